/* Who did what in which trial? The panel while no agent is chosen: counts, which are the legend too, and agents. */

class AgentsPanel {
  constructor(root) {
    this.root = root;
  }

  build() {
    this.root.replaceChildren(
      element("h2", {}, "Outcomes"), this.countsTable(),
      hint("Choose an agent here or on the map to see what it did, was paid and was given."),
      element("h2", {}, "Agents"), this.agentsTable());
  }

  columns() {
    const manyEpisodes = trials[trials.length - 1].episode > 0;
    return trials.map((trial) => (manyEpisodes ? `${trial.episode}/${trial.index}` : `trial ${trial.index}`));
  }

  countsTable() {
    const counts = trials.map((trial) => countStates(trial, trial.lastStep));
    const isShown = (state) => (state !== OTHER && state !== DRIVING) || counts.some((count) => count[state]);
    const states = [GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER, DRIVING].filter(isShown);
    const agents = states.map((state) => element("tr", {},
      element("th", {scope: "agent"}, markOf(state), ` ${STATE_NAMES[state]}`),
      ...counts.map((count) => element("td", {}, String(count[state])))));
    return element("div", {class: "wide"},
      table("At the end of each trial", ["", ...this.columns()], agents, {class: "counts"}), ...this.others());
  }

  /* The colours of vehicles that are no agents, where there are such. */
  others() {
    const rest = [LOG_REPLAY, STATIC].filter((state) => scenes.some((scene) => countOthers(scene)[state]));
    const others = rest.map((state) => element("span", {class: "other"},
      element("i", {class: `swatch state-${state}`}), ` ${STATE_NAMES[state]}`));
    return others.length ? [element("p", {class: "others"}, "Without an agent: ", ...others)] : [];
  }

  agentsTable() {
    const most = Math.max(...scenes.map((scene) => scene.agents));
    const agents = Array.from({length: most}, (_, agent) => element("tr", {},
      element("th", {scope: "agent"}, element("button", {class: "link", onclick: () => choose(agent)}, `agent_${agent}`)),
      ...trials.map((trial) => element("td", {}, ...this.outcomeOf(trial, agent)))));
    return element("div", {class: "wide"},
      table("What became of each", ["", ...this.columns()], agents, {class: "agents"}));
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

function countOthers(scene) {
  const static_vehicles = scene.ids.length - scene.agents - scene.log_replays;
  return {[LOG_REPLAY]: scene.log_replays, [STATIC]: static_vehicles};
}

/* Shortly before something happened, with the agent chosen. */
const LEAD_S = 1.5;

function showMoment(number, agent, frame) {
  const lead = Math.round(LEAD_S / trials[number].scene.dt_s), shownAt = view.trials.indexOf(number);
  play(false);
  if (shownAt >= 0) view.active = shownAt;
  showTrial(number, Math.max(0, frame - lead));
  choose(agent);
}
