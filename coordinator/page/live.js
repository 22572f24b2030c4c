// The state of the service as it changes: plots of /metrics, and the ranks of /ready.

const PERIOD_SECONDS = 2;
const SAMPLES = 61;  // Two minutes.
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
    detail: (now, last) => last.second === null ? "median" : `median; 95 % within ${secondsText(last.second)}`,
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
    detail: (now) => `${countText(sumOf(now.families, "scorecast_running_completions"), "completion")}`,
  },
  {
    id: "plot-cache", title: "Found in the cache", format: percentText, most: 1,
    of: (before, now) => share(before, now, "scorecast_cache_hit_tokens_total", "scorecast_cache_lookup_tokens_total"),
    detail: (now) => `${countText(sumOf(now.families, "scorecast_cache_pages"), "page")}, ` +
      bytesText(sumOf(now.families, "scorecast_cache_bytes")),
  },
].map((one) => ({...one, plot: new Plot(one.title, {...one, length: SAMPLES}), values: [], seconds: []}));

function append(values, value) {
  values.push(value);
  if (values.length > SAMPLES) {
    values.shift();
  }
}

// The sample with which the last one is compared.
function earlier() {
  return samples[Math.max(0, samples.length - 1 - SMOOTHED)];
}

function showMetrics(text) {
  const now = {seconds: performance.now() / 1000, families: parseMetrics(text)};
  samples.push(now);
  if (samples.length > SMOOTHED + 1) {
    samples.shift();
  }
  const before = earlier();
  for (const one of PLOTS) {
    const isKnown = before !== now || one.isGauge;
    append(one.values, isKnown ? one.of(before, now) : null);
    append(one.seconds, isKnown && one.second ? one.second(before, now) : null);
    const last = {second: one.seconds[one.seconds.length - 1]};
    one.plot.show(one.values, one.detail(now, last), one.second ? one.seconds : []);
  }
  showBuild(now.families);
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
  const before = earlier();
  const now = samples[samples.length - 1];
  const part = (name) => growth(before, now, name, "rank", String(rank)) / (now.seconds - before.seconds);
  return [part("scorecast_rank_compute_seconds_total"), part("scorecast_rank_wait_seconds_total")];
}

function rankItem(rank) {
  const state = rank.late ? `silent for ${secondsText(rank.silent_seconds)}` : rank.state;
  const work = workOf(rank.rank);
  const [computing, waiting] = (work || []).map((part) => `${Math.round(Math.min(part, 1) * 100)} %`);
  const text = work === null ? "" : `${computing} computing, ${waiting} waiting`;
  const head = element("p", "head", element("span", "", `Rank ${rank.rank} on ${rank.host}`),
    element("span", rank.late || rank.state === "starting" ? "bad" : "", state));
  return element("li", "", head, bar(work || [], text || "not known"), element("p", "detail", text));
}

function showReady(ready) {
  const isReady = ready.status === "ready";
  showState(isReady ? "ready" : ready.reason || "not ready", isReady);
  byId("ranks").replaceChildren(...ready.ranks.map(rankItem));
}

function showState(text, isGood) {
  if (byId("state").textContent !== text) {
    byId("state").textContent = text;
  }
  byId("state").className = `pill ${isGood ? "good" : "bad"}`;
}

// A service that is not ready says so with a 503, whose body has the ranks.
async function readState() {
  try {
    showReady(await (await fetch("ready", {cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS)})).json());
  } catch {
    showState("cannot be reached", false);
  }
}

// Asks for the metrics only while it may read them, because a refusal counts in the metrics.
async function readMetrics() {
  if (byId("key-section").hidden) {
    try {
      showMetrics(await (await call("metrics", undefined, AbortSignal.timeout(PATIENCE_MS))).text());
    } catch {
      samples.length = 0;
    }
  }
}

async function watch() {
  byId("plots").append(...PLOTS.map((one) => one.plot.item));
  byId("live").hidden = false;
  for (;;) {
    // A page that nobody sees asks for nothing. What was computed meanwhile is no rate of the time after it.
    if (document.hidden) {
      samples.length = 0;
    } else {
      await Promise.all([readMetrics(), readState()]);
    }
    await new Promise((resolve) => setTimeout(resolve, PERIOD_SECONDS * 1000));
  }
}
