"use strict";

// What the page reads of /metrics, and what it computes from it: rates, shares and quantiles.

// The families that are read. The others, most of the text, are skipped.
const FAMILIES = new Set([
  "scorecast_requests_total", "scorecast_pass_rows_sum", "scorecast_requests_in_flight",
  "scorecast_running_completions", "scorecast_queue_requests", "scorecast_queue_tokens",
  "scorecast_queue_predicted_seconds", "scorecast_cache_lookup_tokens_total", "scorecast_cache_hit_tokens_total",
  "scorecast_cache_pages", "scorecast_cache_bytes", "scorecast_request_seconds_bucket",
  "scorecast_rank_compute_seconds_total", "scorecast_rank_wait_seconds_total", "scorecast_build_info",
  "process_start_time_seconds",
]);

// The value of a label such as le="0.5" in the braces of a line.
function labelOf(labels, name) {
  const found = labels.match(new RegExp(`(?:^|,)${name}="([^"]*)"`));
  return found ? found[1] : "";
}

// A sample of the metrics: for each family, a list of its labels and values.
function parseMetrics(text) {
  const families = new Map();
  for (const line of text.split("\n")) {
    const end = line.search(/[{ ]/);
    const name = line.slice(0, end);
    if (!FAMILIES.has(name)) {
      continue;
    }
    const labels = line[end] === "{" ? line.slice(end + 1, line.lastIndexOf("}")) : "";
    const value = Number(line.slice(line.lastIndexOf(" ") + 1).replace("Inf", "Infinity"));
    if (!families.has(name)) {
      families.set(name, []);
    }
    families.get(name).push({labels, value});
  }
  return families;
}

// The sum of a family's values, or of those that have a label of this value.
function sumOf(families, name, label = "", wanted = "") {
  let sum = 0;
  for (const {labels, value} of families.get(name) || []) {
    if (label === "" || labelOf(labels, label) === wanted) {
      sum += value;
    }
  }
  return sum;
}

// How much a counter has grown between two samples. A service that was started again counts from 0.
function growth(before, now, name, label = "", wanted = "") {
  const grown = sumOf(now.families, name, label, wanted) - sumOf(before.families, name, label, wanted);
  return grown >= 0 ? grown : sumOf(now.families, name, label, wanted);
}

function rate(before, now, name) {
  return growth(before, now, name) / (now.seconds - before.seconds);
}

// The share of one counter's growth in another's; null if that has not grown.
function share(before, now, part, whole) {
  const all = growth(before, now, whole);
  return all > 0 ? growth(before, now, part) / all : null;
}

// The number of requests up to each bound, of all endpoints.
function bucketsOf(families) {
  const counts = new Map();
  for (const {labels, value} of families.get("scorecast_request_seconds_bucket") || []) {
    const bound = Number(labelOf(labels, "le").replace("+Inf", "Infinity"));
    counts.set(bound, (counts.get(bound) || 0) + value);
  }
  return counts;
}

// A quantile of the seconds that the requests between two samples took, as Prometheus' histogram_quantile has it; null
// if there were none.
function quantile(before, now, q) {
  const old = bucketsOf(before.families);
  const buckets = [...bucketsOf(now.families)].sort((one, other) => one[0] - other[0])
    .map(([bound, count]) => [bound, count - (old.get(bound) || 0)]);
  const total = buckets.length > 0 ? buckets[buckets.length - 1][1] : 0;
  if (total <= 0) {
    return null;
  }
  let lower = 0;
  let below = 0;
  for (const [bound, count] of buckets) {
    if (count >= q * total) {
      return bound === Infinity ? lower : lower + (bound - lower) * (q * total - below) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return null;
}

// "0.25", "2,048" or "1.23M"
function numberText(value) {
  const size = Math.abs(value);
  const digits = size < 10 ? 2 : size < 100 ? 1 : 0;
  return new Intl.NumberFormat("en", size < 10000 ? {maximumFractionDigits: digits}
    : {notation: "compact", maximumSignificantDigits: 3}).format(value);
}

function secondsText(seconds) {
  if (seconds < 1) {
    return `${numberText(seconds * 1000)} ms`;
  }
  if (seconds < 120) {
    return `${numberText(seconds)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) {
    return `${minutes} min`;
  }
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}

function percentText(part) {
  return `${numberText(part * 100)} %`;
}

function bytesText(bytes) {
  return bytes < 1e9 ? `${numberText(bytes / 1e6)} MB` : `${numberText(bytes / 1e9)} GB`;
}

function countText(count, noun) {
  return `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
}
