/* What about the chosen agent? Its numbers, rewards, channels, events and observation, one column a pane. */

const PARTED_M = 1;

const ACTION_CHANNELS = ["terminations", "truncations", "trial_ended", "truncation", "invalid_step"];
const OBSERVATION_CHANNELS = ["first", "removed", "stopped", "waits"];
const NONE = "\u00b7";

class AgentPanel {
  constructor(root) {
    this.root = root;
    this.cells = new LiveCells();
    this.key = "";
    this.open = new Set(["now", "reward", "events"]);
  }

  /* Builds the panel where the agent or the trials are others than before; then shows what is true now. */
  refresh() {
    const key = `${view.agent}|${view.trials}|${view.active}`;
    if (key !== this.key) {
      this.key = key;
      this.build();
    }
    this.cells.refresh();
  }

  build() {
    this.cells = new LiveCells();
    const columns = isComparing() ? shownTrials().map((trial) => trialName(recording, trial)) : [];
    this.root.replaceChildren(
      this.head(), this.outcomes(), ...this.parting(),
      this.section("now", "Now", this.now(columns)),
      this.section("reward", "Reward", this.reward(columns)),
      this.section("events", "Events so far", this.events()),
      this.section("channels", "Channels of the step", this.channels(columns)),
      this.section("own", "Observation: itself", this.own(columns)),
      this.section("vehicles", "Observation: vehicles", this.vehicles()),
      this.section("roads", "Observation: roads", this.roads(columns)));
  }

  section(name, title, ...content) {
    const attributes = {open: this.open.has(name), id: `section-${name}`};
    const made = element("details", attributes, element("summary", {}, title), ...content);
    made.addEventListener("toggle", () => {
      this.open[made.open ? "add" : "delete"](name);
      askForPicture();
    });
    return made;
  }

  /* One cell a shown trial; `say(trial, frame)` gives its text. */
  each(say, attributes) {
    return shownTrials().map((trial) =>
      this.cells.text("td", () => say(trial, clampStep(trial, view.step)), attributes));
  }

  /* ---- who ---- */

  head() {
    const {scene} = shownTrials()[0], {agent} = view;
    const kind = recording.object_kinds[scene.kind[agent]];
    const size = `${shown(scene.length[agent], 1)} by ${shown(scene.width[agent], 1)} m`;
    const attributes = {class: "close", title: "All agents (Escape)", "aria-label": "All agents"};
    return element("div", {class: "who"},
      element("h2", {}, vehicleName(scene, agent)),
      element("span", {class: "hint"}, `${kind}, ${size}`),
      element("button", {...attributes, onclick: () => choose(-1)}, "\u00d7"));
  }

  /* What became of it in every trial; a click shows the moment. */
  outcomes() {
    const played = trials.filter((trial) => view.agent < trial.agents);
    return element("div", {class: "chips"}, ...played.map((trial) => this.outcome(trial, view.agent)));
  }

  outcome(trial, agent) {
    const state = stateOf(trial, agent, trial.lastStep), frame = trial.ends[agent]?.frame ?? trial.lastStep;
    const attributes = {
      class: view.trials.includes(trial.number) ? "chip shown" : "chip",
      title: `${STATE_NAMES[state]} at step ${frame}`,
      onclick: () => showMoment(trial.number, agent, frame)};
    return element("button", attributes,
      markOf(state), element("span", {}, `${trialName(recording, trial)} \u00b7 ${frame}`));
  }

  /* Where the ways of two trials part. */
  parting() {
    if (!isComparing()) return [];
    const [one, other] = shownTrials(), step = partingStep(one, other, view.agent, PARTED_M);
    if (one.scene !== other.scene) return [];
    if (step === null) return [hint(`Never more than ${PARTED_M} m apart while both last.`)];
    return [hint(`More than ${PARTED_M} m apart from `, link(`step ${step}`, () => goTo(step)),
      " on. Dots: its way in the other trial.")];
  }

  /* ---- numbers ---- */

  now(columns) {
    const {agent} = view;
    const action = (place) => (trial, frame) => {
      if (frame === 0 || hasFlag(recording, trial, agent, frame, "invalid_step")) return "none";
      return shown(trial.actions[at(trial, 2 * agent + place, frame)], 2, true);
    };
    const agents = [
      tableRow("state", shownTrials().map((trial) => this.cells.part(
        "td", () => stateOf(trial, agent, clampStep(trial, view.step)),
        (state) => element("span", {class: "state"}, markOf(state), ` ${STATE_NAMES[state]}`)))),
      tableRow("speed", this.each((trial, frame) => `${shown(trial.speed[at(trial, agent, frame)], 1)} m/s`)),
      tableRow("goal", this.each((trial, frame) => `${shown(goalDistance(trial, agent, frame), 1)} m`)),
      tableRow("throttle", this.each(action(0)), "share of the largest; of the action just taken"),
      tableRow("steering", this.each(action(1)), "share of the largest, above 0 to the left; of the action just taken"),
    ];
    return table("State and action", columns.length ? ["", ...columns] : [], agents);
  }

  reward(columns) {
    const {agent} = view, digits = 2;
    const term = (bit, from) => (trial, frame) =>
      shown(rewardUpTo(recording, trial, agent, frame, from ? frame : 0).terms[bit], digits, true);
    const agents = recording.events.map((event, bit) =>
      tableRow(event, [...this.each(term(bit, true)), ...this.each(term(bit, false))],
        `${shown(recording.reward[event], 2, true)} each`));
    agents.push(element("tr", {class: "sum"}, element("th", {scope: "agent"}, "sum"),
      ...this.each((trial, frame) => shown(trial.rewards[at(trial, agent, frame)], digits, true)),
      ...this.each((trial, frame) => shown(rewardUpTo(recording, trial, agent, frame).sum, digits, true))));
    const names = columns.length
      ? ["", ...columns.map((name) => `${name}: step`), ...columns.map((name) => `${name}: so far`)]
      : ["", "this step", "this trial so far"];
    return table("Reward by term", names, agents);
  }

  /* ---- events ---- */

  events() {
    const lists = shownTrials().map((trial) => {
      const all = eventsOfAgent(trial, view.agent);
      const countNow = () => all.filter((event) => event.frame <= clampStep(trial, view.step)).length;
      return this.cells.part("div", countNow, (count) => this.eventList(all.slice(0, count)), {class: "column"});
    });
    return element("div", {class: "columns"}, ...lists);
  }

  eventList(events) {
    if (!events.length) return hint("none yet");
    return element("ul", {class: "events"}, ...events.map((event) => element("li", {},
      link(`step ${event.frame}`, () => goTo(event.frame)), markOf(event.state), element("span", {}, event.words))));
  }

  /* ---- channels ---- */

  channels(columns) {
    const {agent} = view, names = columns.length ? ["", ...columns] : [];
    const channel = (name, say) => tableRow(name, this.each(say));
    const flag = (name) => channel(name, (trial, frame) =>
      (hasFlag(recording, trial, agent, frame, name) ? "true" : NONE));
    const ofAction = [
      ...ACTION_CHANNELS.map(flag),
      channel("outcome", (trial, frame) => recording.outcomes[trial.outcome[at(trial, agent, frame)]] || NONE),
      channel("rewards", (trial, frame) => shown(trial.rewards[at(trial, agent, frame)], 2, true)),
    ];
    const ofObservation = [...OBSERVATION_CHANNELS.map(flag), channel("trial_index", (trial) => String(trial.index))];
    return element("div", {},
      table("Of the action just taken", names, ofAction, {class: "channels"}),
      table("Of the observation just returned", names, ofObservation, {class: "channels"}));
  }

  /* ---- observation ---- */

  isOpen(name) {
    return this.open.has(name);
  }

  own(columns) {
    const say = (feature) => (trial, frame) => {
      if (!this.isOpen("own")) return "";
      const unit = feature.unit === "1" ? "" : ` ${feature.unit}`;
      return shown(sightOf(trial, view.agent, frame).own[feature.name], 2) + unit;
    };
    const agents = recording.own.map((feature) => tableRow(feature.name, this.each(say(feature)), feature.meaning));
    return table("As given, in units", columns.length ? ["", ...columns] : [], agents, {class: "channels"});
  }

  vehicles() {
    const lists = shownTrials().map((trial) => this.cells.part(
      "div", () => (this.isOpen("vehicles") ? clampStep(trial, view.step) : -1),
      (frame) => (frame < 0 ? element("span") : this.vehicleTable(trial, sightOf(trial, view.agent, frame)))));
    return element("div", {}, ...lists);
  }

  vehicleTable(trial, sight) {
    const agents = sight.vehicles.map((one) => tableRow(vehicleName(trial.scene, one.vehicle),
      [one.ahead, one.left, one.distance, one.speed].map((value) => element("td", {}, shown(value, 1)))));
    const name = isComparing() ? `${trialName(recording, trial)}: ` : "";
    const caption = `${name}${agents.length} of ${recording.config.partners} slots filled`;
    return table(caption, ["", "ahead m", "left m", "away m", "m/s"], agents);
  }

  roads(columns) {
    const count = (isMeant) => (trial, frame) => {
      if (!this.isOpen("roads")) return "";
      return String(sightOf(trial, view.agent, frame).roads.filter(isMeant).length);
    };
    const agents = Object.entries(recording.road_kinds).map(([code, kind]) =>
      tableRow(kind.replace("_", " "), this.each(count((one) => one.kind === Number(code)))));
    agents.push(element("tr", {class: "sum"},
      element("th", {scope: "agent"}, `of ${recording.config.roads} slots`), ...this.each(count(() => true))));
    return table("Segments by kind", columns.length ? ["", ...columns] : [], agents);
  }
}

/* The events of an agent in words, and the end of its trial where that was none of them. */
function eventsOfAgent(trial, agent) {
  const own = trial.events.filter((event) => event.agent === agent);
  const events = own.map((event) => ({...event, words: eventWords(trial, event)}));
  const end = trial.ends[agent];
  if (end && !events.some((event) => event.frame === end.frame && event.state === end.outcome))
    events.push({frame: end.frame, state: end.outcome, words: STATE_NAMES[end.outcome]});
  return events;
}

function eventWords(trial, event) {
  const paid = shown(recording.reward[recording.events[event.bit]], 2, true);
  const hit = event.state === COLLISION ? contactsBegun(trial, event.agent, event.frame) : [];
  const whom = hit.length ? ` with ${hit.map((other) => vehicleName(trial.scene, other)).join(", ")}` : "";
  return `${STATE_NAMES[event.state]}${whom}, ${paid}`;
}
