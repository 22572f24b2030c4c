// The state of the service as it changes: plots of /metrics, and the ranks of /ready.

const PERIOD_SECONDS = 2;
const WINDOW_SECONDS = 120;
// Rates of so few samples would jump too much to be read, so those of these many are taken.
const SMOOTHED = 3;
// A service that has not replied for so long cannot be reached.
const PATIENCE_MS = 10000;

const samples = [];

// `of` gives the value between two samples, or for a gauge that of the last one; `detail` is the line below the plot.
const PLOTS = [
  {
    id: "plot-requests", title: "Requests a second", format: numberText,
    of: (before, now) => rate(before, now, "scorecast_requests_total"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_requests_total"), "request")} in all`,
  },
  {
    id: "plot-tokens", title: "Tokens a second", format: numberText,
    of: (before, now) => rate(before, now, "scorecast_pass_rows_sum"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_pass_rows_sum"), "token")} computed`,
  },
  {
    id: "plot-latency", title: "Latency", format: secondsText,
    of: (before, now) => quantile(before, now, .5),
    second: (before, now) => quantile(before, now, .95),
    detail: (now, second) => second === null ? "no requests just now"
      : [named("first", "median"), " ", named("second", `95 % in ${secondsText(second)}`)],
  },
  {
    id: "plot-waiting", title: "Waiting requests", format: numberText, isGauge: true,
    of: (before, now) => sumOf(now.families, "scorecast_queue_requests"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_queue_tokens"), "token")}, ` +
      `${secondsText(sumOf(now.families, "scorecast_queue_predicted_seconds"))} of work`,
  },
  {
    id: "plot-running", title: "Requests in work", format: numberText, isGauge: true,
    of: (before, now) => sumOf(now.families, "scorecast_requests_in_flight"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_running_completions"), "completion")} being written`,
  },
  {
    id: "plot-cache", title: "Found in the cache", format: percentText, top: 1,
    of: (before, now) => share(before, now, "scorecast_cache_hit_tokens_total", "scorecast_cache_lookup_tokens_total"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_cache_pages"), "page")}, ` +
      `${bytesText(sumOf(now.families, "scorecast_cache_bytes"))} kept`,
  },
].map((one) => ({...one, plot: new Plot(one.title, one), points: []}));

// Takes a sample of the metrics, or null if there is none now. The lines of the plots then have a gap.
function showMetrics(families) {
  const seconds = performance.now() / 1000;
  if (families === null) {
    samples.length = 0;
  } else {
    samples.push({seconds, families});
    samples.splice(0, samples.length - SMOOTHED - 1);
  }
  const [before] = samples;
  const now = samples[samples.length - 1];
  for (const one of PLOTS) {
    const isKnown = families !== null && (before !== now || one.isGauge);
    const value = isKnown ? one.of(before, now) : null;
    const second = isKnown && one.second ? one.second(before, now) : null;
    one.points.push({seconds, value, second});
    one.points = one.points.filter((point) => point.seconds > seconds - WINDOW_SECONDS);
    one.plot.show(one.points, seconds, families === null ? "" : one.detail(now, second));
  }
}

function showBuild(families) {
  const [build] = families.get("scorecast_build_info") || [];
  const started = sumOf(families, "process_start_time_seconds");
  const version = build ? `scorecast ${labelOf(build.labels, "version")}` : "";
  const up = Math.max(0, Math.floor(Date.now() / 1000 - started));
  byId("build").textContent = version + (started > 0 ? `, up for ${secondsText(up)}` : "");
}

// The shares of the last seconds in which a rank computed, and waited for others; null if they are not known.
function workOf(rank) {
  if (samples.length < 2) {
    return null;
  }
  const [before] = samples;
  const now = samples[samples.length - 1];
  const part = (name) => growth(before, now, name, "rank", String(rank)) / (now.seconds - before.seconds);
  return [part("scorecast_rank_compute_seconds_total"), part("scorecast_rank_wait_seconds_total")];
}

function rankItem(rank) {
  const state = rank.late ? `silent for ${secondsText(rank.silent_seconds)}` : rank.state;
  const head = element("p", "head", element("span", "", `Rank ${rank.rank} on ${rank.host}`),
    element("span", rank.late || rank.state === "starting" ? "bad" : "", state));
  const work = workOf(rank.rank);
  if (work === null) {
    return element("li", "", head);
  }
  const [computing, waiting] = work.map((part) => `${Math.round(Math.min(part, 1) * 100)} %`);
  return element("li", "", head, bar(work, `${computing} computing, ${waiting} waiting for others`), element("p", "detail",
    named("first", `${computing} computing`), " ", named("second", `${waiting} waiting for others`)));
}

// `trouble` says what is wrong, or is empty.
function showState(text, trouble) {
  // A text that stays the same is not read aloud again.
  if (byId("state").textContent !== text) {
    byId("state").textContent = text;
  }
  byId("state").className = `pill ${trouble === "" ? "good" : "bad"}`;
  byId("trouble").textContent = trouble;
  byId("trouble").hidden = trouble === "";
}

function showReady(ready) {
  const isReady = ready.status === "ready";
  showState(ready.status, isReady ? "" : `The service is not ready: ${ready.reason}.`);
  byId("ranks").replaceChildren(...ready.ranks.map(rankItem));
}

// A service that is not ready says so with a 503, whose body has the ranks.
async function readState() {
  try {
    showReady(await (await fetch("ready", {cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS)})).json());
  } catch {
    showState("cannot be reached", "The service cannot be reached. This page asks again every two seconds.");
    byId("ranks").replaceChildren(element("li", "detail", "Not known now."));
  }
}

// The metrics; null if there are none. The page asks only while it may read them, because a refusal counts in the metrics.
async function readMetrics() {
  if (!byId("key-section").hidden) {
    return null;
  }
  try {
    return parseMetrics(await (await call("metrics", undefined, AbortSignal.timeout(PATIENCE_MS))).text());
  } catch {
    return null;
  }
}

// `onRestart` is called when the service has been started again, perhaps with another model.
async function watch(onRestart) {
  byId("plots").append(...PLOTS.map((one) => one.plot.item));
  byId("live").hidden = false;
  let started = 0;
  for (;;) {
    // A page that nobody sees asks for nothing.
    const [families] = document.hidden ? [null] : await Promise.all([readMetrics(), readState()]);
    showMetrics(families);
    if (families !== null) {
      showBuild(families);
      const now = sumOf(families, "process_start_time_seconds");
      if (started !== 0 && started !== now) {
        onRestart();
      }
      started = now;
    }
    await new Promise((resolve) => setTimeout(resolve, PERIOD_SECONDS * 1000));
  }
}
