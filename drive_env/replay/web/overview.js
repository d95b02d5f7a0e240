/* What is the outcome of each agent in each trial? The panel while no agent is selected; its counts are the legend. */

class OverviewPanel {
  constructor(root) {
    this.root = root;
  }

  build() {
    this.root.replaceChildren(
      element("h2", {}, "Outcomes"), this.countsTable(),
      hint("Select an agent here or on the map to see its actions, rewards and observations."),
      element("h2", {}, "Agents"), this.agentsTable());
  }

  columns() {
    const manyEpisodes = trials[trials.length - 1].episode > 0;
    return trials.map((trial) =>
      (manyEpisodes ? `${trial.episode + 1}/${trial.index + 1}` : `trial ${trial.index + 1}`));
  }

  countsTable() {
    const counts = trials.map((trial) => countStates(trial, trial.lastStep));
    const isShown = (state) => (state !== OTHER && state !== DRIVING) || counts.some((count) => count[state]);
    const states = [GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER, DRIVING].filter(isShown);
    const rows = states.map((state) => element("tr", {},
      element("th", {scope: "row"}, markOf(state), ` ${STATE_NAMES[state]}`),
      ...counts.map((count) => element("td", {}, String(count[state])))));
    return element("div", {class: "wide"},
      table("At the end of each trial", ["", ...this.columns()], rows, {class: "counts"}), ...this.nonAgents(),
      ...controlsLegend());
  }

  /* The legend of vehicles without an agent, and of co-players; empty if there are none. */
  nonAgents() {
    const followLogs = trials.some((trial) => trial.followsLog.includes(1)); // rule-based vehicles may, too
    const rest = [LOG_REPLAY, RULE_BASED, STATIC].filter((state) =>
      scenes.some((scene) => countNonAgents(scene)[state]) || (state === LOG_REPLAY && followLogs));
    const swatches = rest.map((state) => element("span", {class: "other"},
      element("i", {class: `swatch state-${state}`}), ` ${STATE_NAMES[state]}`));
    return [
      ...(swatches.length ? [element("p", {class: "others"}, "Without an agent: ", ...swatches)] : []),
      ...(trials.some((trial) => trial.coplayers.length) ? [element("p", {class: "others"},
        element("i", {class: "swatch state-0 striped"}), " With a stripe along the roof: co-players")] : []),
    ];
  }

  agentsTable() {
    const maxAgents = Math.max(...scenes.map((scene) => scene.agents));
    const rows = Array.from({length: maxAgents}, (_, agent) => element("tr", {},
      element("th", {scope: "row"}, link(`agent_${agent}`, () => selectAgent(agent))),
      ...trials.map((trial) => element("td", {}, ...this.outcomeOf(trial, agent)))));
    return element("div", {class: "wide"},
      table("Outcome of each agent", ["", ...this.columns()], rows, {class: "agents"}));
  }

  outcomeOf(trial, agent) {
    if (agent >= trial.agents) return [];
    const state = stateOf(trial, agent, trial.lastStep), frame = trial.ends[agent]?.frame ?? trial.lastStep;
    const title = `${STATE_NAMES[state]} at step ${frame}`;
    const name = `agent_${agent}, ${trialName(recording, trial)}: ${title}`;
    const onclick = () => showMoment(trial.number, agent, frame);
    return [element("button", {class: "outcome", title, "aria-label": name, onclick},
      markOf(state, ""), element("small", {}, String(frame)))];
  }
}

function countNonAgents(scene) {
  const staticCount = scene.ids.length - scene.agents - scene.log_replays - scene.rule_based;
  return {[LOG_REPLAY]: scene.log_replays, [RULE_BASED]: scene.rule_based, [STATIC]: staticCount};
}

/* A link to an event opens this long before it. */
const LEAD_IN_S = 1.5;

function showMoment(number, agent, frame) {
  const leadSteps = Math.round(LEAD_IN_S / trials[number].scene.dt_s), pane = view.trials.indexOf(number);
  play(false);
  if (pane >= 0) view.active = pane;
  showTrial(number, Math.max(0, frame - leadSteps));
  selectAgent(agent);
}
