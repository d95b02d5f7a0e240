/* What is known of the selected agent? State, rewards, channels, events and observation, one column per pane. */

/* Two paths have diverged where they are this far apart. */
const DIVERGED_M = 1;

const ACTION_CHANNELS = ["terminations", "truncations", "trial_ended", "truncation", "invalid_step"];
const OBSERVATION_CHANNELS = ["first", "removed", "stopped", "waits"];
const ACTION_HINT = "share of the limit, in the action just taken; to the left is positive";
const OWN_REWARD_HINT = "what the function passed as Batch(reward=...) returned";
const DISTURBANCE_HINT = "a disturbance: it changes what the agent observes now, or does in the coming step";
const NONE = "\u00b7";

class AgentPanel {
  constructor(root) {
    this.root = root;
    this.cells = new LiveCells();
    this.key = "";
    this.open = new Set(["now", "reward", "drawn", "events"]);
  }

  /* Rebuilds the panel if the agent or the trials have changed, then updates its cells. */
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
      this.head(), this.outcomes(), ...this.divergence(),
      this.section("now", "Now", this.now(columns)),
      this.section("reward", "Reward", this.reward(columns)),
      ...this.drawn(columns),
      this.section("events", "Events so far", this.events()),
      this.section("channels", "Channels of the step", this.channels(columns)),
      this.section("own", "Observation: ego and trial features", this.own(columns)),
      this.section("vehicles", "Observation: vehicles", this.vehicles()),
      this.section("roads", "Observation: roads", this.roads(columns)),
      ...(recording.sets.length ? [this.section("sets", "Observation: goals, lights and signs", this.sets())] : []));
  }

  section(name, title, ...content) {
    const attributes = {open: this.open.has(name), id: `section-${name}`};
    const details = element("details", attributes, element("summary", {}, title), ...content);
    details.addEventListener("toggle", () => {
      this.open[details.open ? "add" : "delete"](name);
      requestDraw();
    });
    return details;
  }

  /* One cell per shown trial; `read(trial, frame)` returns its text. */
  each(read, attributes) {
    return shownTrials().map((trial) =>
      this.cells.text("td", () => read(trial, clampStep(trial, view.step)), attributes));
  }

  /* ---- identity and outcomes ---- */

  head() {
    const {scene} = shownTrials()[0], {agent} = view;
    const kind = recording.object_kinds[scene.kind[agent]];
    const size = `${fixed(scene.length[agent], 1)} by ${fixed(scene.width[agent], 1)} m`;
    const attributes = {class: "close", title: "All agents (Escape)", "aria-label": "All agents"};
    return element("div", {class: "identity"},
      element("h2", {}, vehicleName(scene, agent)),
      element("span", {class: "hint"}, `${kind}, ${size}`),
      element("button", {...attributes, onclick: () => selectAgent(-1)}, "\u00d7"));
  }

  /* The agent's outcome in every trial; a click opens the moment before it. */
  outcomes() {
    const present = trials.filter((trial) => view.agent < trial.agents);
    return element("div", {class: "chips"}, ...present.map((trial) => this.outcome(trial, view.agent)));
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

  /* The step at which the agent's paths in two trials diverge. */
  divergence() {
    if (!isComparing()) return [];
    const [one, other] = shownTrials(), step = divergenceStep(one, other, view.agent, DIVERGED_M);
    if (one.scene !== other.scene) return [];
    if (step === null) return [hint(`Never more than ${DIVERGED_M} m apart while both trials last.`)];
    return [hint(`More than ${DIVERGED_M} m apart from `, link(`step ${step}`, () => goTo(step)),
      " on. Dots: its path in the other trial.")];
  }

  /* ---- state and reward ---- */

  now(columns) {
    const {agent} = view;
    const action = (dimension) => (trial, frame) => {
      if (frame === 0 || hasWaited(recording, trial, agent, frame)) return "none";
      return fixed(trial.actions[at(trial, recording.controls.length * agent + dimension, frame)], 2, true);
    };
    const rows = [
      tableRow("state", shownTrials().map((trial) => this.cells.part(
        "td", () => stateOf(trial, agent, clampStep(trial, view.step)),
        (state) => element("span", {class: "state"}, markOf(state), ` ${STATE_NAMES[state]}`)))),
      tableRow("speed", this.each((trial, frame) => `${fixed(trial.speed[at(trial, agent, frame)], 1)} m/s`)),
      tableRow("goal", this.each((trial, frame) => {
        const hidden = observesGoal(trial, agent, frame) ? "" : ", not observed";
        return `${fixed(goalDistance(trial, agent, frame), 1)} m${hidden}`;
      })),
      ...recording.controls.map((control, dimension) => tableRow(
        control.name, this.each(action(dimension)), ACTION_HINT)),
      ...Object.keys(recording.disturbances).map((name) => tableRow(name,
        this.each((trial, frame) => (isDisturbed(trial, agent, frame, name) ? "on" : "off")), DISTURBANCE_HINT)),
    ];
    return table("State and action", columns.length ? ["", ...columns] : [], rows);
  }

  /* One row per term that is not 0 throughout the episode, so that all trials of one have the same rows. */
  reward(columns) {
    const {agent} = view, digits = 3;
    const episodes = new Set(shownTrials().map((trial) => trial.episode));
    const played = trials.filter((trial) => episodes.has(trial.episode) && agent < trial.agents);
    const isShown = recording.rewarded.map((_, term) => played.some((trial) => isRewarded(trial, agent, term)));
    const row = (name, term) => {
      const soFar = (trial, frame) => termUpTo(trial, agent, frame, term);
      const ofStep = (trial, frame) => (frame ? soFar(trial, frame) - soFar(trial, frame - 1) : 0);
      const cells = [ofStep, soFar].flatMap((read) =>
        this.each((trial, frame) => fixed(read(trial, frame), digits, true)));
      if (recording.has_own_reward) return tableRow(name, cells, OWN_REWARD_HINT);
      const weights = shownTrials().map((trial) => fixed(weightOf(recording, trial, agent, name), digits, true));
      return tableRow(name, cells, `${weights.join(", ")} ${isEvent(name) ? "each" : "times its fact"}`);
    };
    const rows = recording.rewarded.flatMap((name, term) => (isShown[term] ? [row(name, term)] : []));
    rows.push(element("tr", {class: "sum"}, element("th", {scope: "row"}, "sum"),
      ...this.each((trial, frame) => fixed(trial.rewards[at(trial, agent, frame)], digits, true)),
      ...this.each((trial, frame) => fixed(rewardUpTo(trial, agent, frame), digits, true))));
    const names = columns.length
      ? ["", ...columns.map((name) => `${name}: step`), ...columns.map((name) => `${name}: so far`)]
      : ["", "this step", "this trial so far"];
    const zeros = recording.rewarded.filter((_, term) => !isShown[term]);
    return element("div", {}, table("Reward by term", names, rows),
      ...(zeros.length ? [hint(`0 in the whole episode: ${zeros.join(", ")}`)] : []));
  }

  /* What was drawn: options of scripts, weights of the reward and hidden values. Nothing where nothing is drawn. */
  drawn(columns) {
    const {agent} = view, names = columns.length ? ["", ...columns] : [];
    const weights = recording.drawn_terms.map((term) =>
      tableRow(term, this.each((trial) => fixed(weightOf(recording, trial, agent, term), 3))));
    const hidden = recording.hidden.map((name, index) =>
      tableRow(name, this.each((trial) => fixed(trial.hidden[index * trial.agents + agent], 3))));
    const groups = [...new Set(shownTrials()[0].scene.scriptGroup)];
    const options = groups.map((group) =>
      tableRow(`script group ${group}`, this.each((trial) => optionText(trial, group))));
    const content = [
      ...(options.length ? [table("Options of scripts", names, options)] : []),
      ...(weights.length ? [table("Weights of the reward", names, weights)] : []),
      ...(hidden.length ? [table("Hidden values", names, hidden)] : [])];
    return content.length ? [this.section("drawn", "Drawn at random", ...content)] : [];
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
      link(`step ${event.frame}`, () => goTo(event.frame)), markOf(event.state), element("span", {}, event.text))));
  }

  /* ---- channels ---- */

  channels(columns) {
    const {agent} = view, names = columns.length ? ["", ...columns] : [];
    const channel = (name, read) => tableRow(name, this.each(read));
    const flag = (name) => channel(name, (trial, frame) =>
      (hasFlag(recording, trial, agent, frame, name) ? "true" : NONE));
    const ofAction = [
      ...ACTION_CHANNELS.map(flag),
      channel("outcome", (trial, frame) => recording.outcomes[trial.outcome[at(trial, agent, frame)]] || NONE),
      channel("rewards", (trial, frame) => fixed(trial.rewards[at(trial, agent, frame)], 2, true)),
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
    const read = (feature) => (trial, frame) => {
      if (!this.isOpen("own")) return "";
      const unit = feature.unit === "1" ? "" : ` ${feature.unit}`;
      return fixed(observationOf(trial, view.agent, frame).own[feature.name], 2) + unit;
    };
    const rows = recording.own.map((feature) => tableRow(feature.name, this.each(read(feature)), feature.meaning));
    return table("Features in their units", columns.length ? ["", ...columns] : [], rows, {class: "channels"});
  }

  vehicles() {
    const lists = shownTrials().map((trial) => this.cells.part(
      "div", () => (this.isOpen("vehicles") ? clampStep(trial, view.step) : -1),
      (frame) => (frame < 0 ? element("span") : this.vehicleTable(trial, observationOf(trial, view.agent, frame)))));
    return element("div", {}, ...lists);
  }

  vehicleTable(trial, observation) {
    const rows = observation.vehicles.map((one) => tableRow(vehicleName(trial.scene, one.vehicle),
      [one.ahead, one.left, one.distance, one.speed].map((value) => element("td", {}, fixed(value, 1)))));
    const name = isComparing() ? `${trialName(recording, trial)}: ` : "";
    const caption = `${name}${rows.length} of ${recording.config.partners} slots filled`;
    return table(caption, ["", "ahead m", "left m", "distance m", "m/s"], rows);
  }

  sets() {
    const lists = shownTrials().map((trial) => this.cells.part(
      "div", () => (this.isOpen("sets") ? clampStep(trial, view.step) : -1),
      (frame) => element("div", {}, ...(frame < 0 ? [] : this.setTables(trial, frame)))));
    return element("div", {}, ...lists);
  }

  /* One table for each set that the config has, with the place of each filled slot. */
  setTables(trial, frame) {
    const observation = observationOf(trial, view.agent, frame);
    const prefix = isComparing() ? `${trialName(recording, trial)}: ` : "";
    const goalText = (number) => (number ? `goal ${number} later` : "current goal");
    const rowOf = (name, ahead, left) => tableRow(name,
      [ahead, left, Math.hypot(ahead, left)].map((value) => element("td", {}, fixed(value, 1))));
    const rows = {
      candidates: (one) => rowOf("candidate", one.x, one.y),
      controls: (one) => rowOf(controlText(one), (one.left_x + one.right_x) / 2, (one.left_y + one.right_y) / 2),
      goals: (one) => rowOf(goalText(Math.round(one.number)), one.x, one.y),
    };
    const features = recording.sets.filter((feature) => feature.name.endsWith("/kind"));
    return features.map(({name, slots}) => {
      const set = name.split("/")[0], filled = observation[set];
      return table(`${prefix}${set}: ${filled.length} of ${slots} slots filled`,
        ["", "ahead m", "left m", "distance m"], filled.map(rows[set]));
    });
  }

  roads(columns) {
    const count = (isCounted) => (trial, frame) => {
      if (!this.isOpen("roads")) return "";
      return String(observationOf(trial, view.agent, frame).roads.filter(isCounted).length);
    };
    const rows = Object.entries(recording.road_kinds).map(([code, kind]) =>
      tableRow(kind.replace("_", " "), this.each(count((one) => one.kind === Number(code)))));
    rows.push(element("tr", {class: "sum"},
      element("th", {scope: "row"}, `of ${recording.config.roads} slots`), ...this.each(count(() => true))));
    return table("Segments by kind", columns.length ? ["", ...columns] : [], rows);
  }
}

/* The events of an agent with their text, and the outcome of its trial if that is none of them. */
function eventsOfAgent(trial, agent) {
  const own = trial.events.filter((event) => event.agent === agent);
  const events = own.map((event) => ({...event, text: eventText(trial, event)}));
  const end = trial.ends[agent];
  if (end && !events.some((event) => event.frame === end.frame && event.state === end.outcome))
    events.push({frame: end.frame, state: end.outcome, text: STATE_NAMES[end.outcome]});
  return events;
}

const isEvent = (term) => term in EVENT_STATES;

/* The kind of an observed light or sign, and what a light shows. */
function controlText(control) {
  const kind = recording.control_kinds[Math.round(control.kind)];
  const shown = ["red", "yellow", "green"].filter((name) => control[name] > 0.5);
  return kind === "light" ? `light, ${shown[0] ?? "off"}` : `${kind} sign`;
}

function eventText(trial, event) {
  const weight = fixed(weightOf(recording, trial, event.agent, event.name), 2, true);
  const reward = recording.has_own_reward ? "" : `, ${weight}`; /* a function may reward the event otherwise */
  const others = event.state === COLLISION ? newOverlaps(trial, event.agent, event.frame) : [];
  const partners = others.length ? ` with ${others.map((other) => vehicleName(trial.scene, other)).join(", ")}` : "";
  return `${eventName(event.name)}${partners}${reward}`;
}
