/* How are DOM elements created? Elements, marks of states, tables, and cells that update when their value changes. */

const SVG = "http://www.w3.org/2000/svg";

/* Marks on a field of 16 by 16, by state: every state has a shape as well as a colour. */
const MARKS = [
  "M5.5 4.2L11.5 8L5.5 11.8Z", "M3.8 8.6L6.8 11.4L12.2 4.8", "M4.5 4.5L11.5 11.5M11.5 4.5L4.5 11.5",
  "M8 3.4L12.6 8L8 12.6L3.4 8Z", "M8 3A5 5 0 1 0 8 13A5 5 0 1 0 8 3M8 5.4V8.2L10 9.4", "M5 8H11",
];
const MARK_SIZE = 16;

/* A DOM element. An attribute `on...` is a listener; true sets an attribute without a value, false and null none. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/* A disc in a state's colour with its mark on it. */
function markOf(state, title = STATE_NAMES[state]) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${MARK_SIZE} ${MARK_SIZE}`);
  svg.setAttribute("class", `mark state-${state}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  const disc = document.createElementNS(SVG, "circle");
  for (const [name, value] of [["cx", 8], ["cy", 8], ["r", 7.5]]) disc.setAttribute(name, value);
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", MARKS[state]);
  svg.append(disc, shape);
  return svg;
}

/* Cells that are updated on refresh, if their value has changed. */
class LiveCells {
  constructor() {
    this.cells = [];
  }

  /* Calls `show(value)` when the value of `read()` has changed. */
  add(read, show) {
    this.cells.push({lastValue: null, read, show});
  }

  /* An element whose text is the value of `read()`. */
  text(tag, read, attributes) {
    const node = element(tag, attributes);
    this.add(read, (text) => (node.textContent = text));
    return node;
  }

  /* An element whose only child is `make(value)`, made anew when the value of `read()` changes. */
  part(tag, read, make, attributes) {
    const node = element(tag, attributes);
    this.add(read, (value) => node.replaceChildren(make(value)));
    return node;
  }

  refresh() {
    for (const cell of this.cells) {
      const value = cell.read();
      if (value === cell.lastValue) continue;
      cell.lastValue = value;
      cell.show(value);
    }
  }
}

function hint(...content) {
  return element("p", {class: "hint"}, ...content);
}

function link(text, onclick) {
  return element("button", {class: "link", onclick}, text);
}

function table(caption, columns, rows, attributes = {}) {
  const head = columns.length
    ? [element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", {scope: "col"}, name))))] : [];
  return element("table", attributes, element("caption", {}, caption), ...head, element("tbody", {}, ...rows));
}

function tableRow(name, cells, title) {
  return element("tr", {}, element("th", {scope: "row", title}, name), ...cells);
}

/* ---- numbers ---- */

const MINUS = "\u2212";

/* A number with so many decimals; never "-0". */
function fixed(value, digits, withSign = false) {
  const text = Math.abs(value).toFixed(digits);
  const isZero = Number(text) === 0;
  return (value < 0 && !isZero ? MINUS : withSign && !isZero ? "+" : "") + text;
}
