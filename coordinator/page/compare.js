// The form that reranks or scores texts, and shows bars beside them.

// What the form has until its reader types.
const EXAMPLES = {
  rerank: {
    query: "What is the capital of France?",
    texts: ["Rome is the capital of Italy.", "London is the capital of France.", "Paris is the capital of France.",
      "The lion lives in Paris.", "France lies in Europe."],
    help: "",
  },
  score: {
    query: "The capital of France is",
    texts: ["London", "Paris", "Rome", "Oslo"],
    help: "Each text is put behind the query, with a space between.",
  },
  classify: {
    query: "What is the capital of France?",
    texts: ["Paris is the capital of France.", "The lion lives in Paris."],
    help: "Each text is read with the query.",
  },
};

// Of a classifier: the names of its classes. A language model has labels instead.
let classNames = null;

function mode() {
  return byId("compare").elements.mode.value;
}

function example() {
  return EXAMPLES[mode() === "score" && classNames !== null ? "classify" : mode()];
}

function linesOf(id) {
  return byId(id).value.split("\n").filter((line) => line.trim() !== "");
}

// A later part of a text, which begins with the space before its first word.
function continued(text) {
  return /^\s/.test(text) ? text : ` ${text}`;
}

// Shows the example of the mode, unless the reader has typed.
function showExample() {
  const isOurs = Object.values(EXAMPLES).some(({query, texts}) =>
    byId("query").value === query && byId("texts").value === texts.join("\n"));
  if (isOurs || (byId("query").value === "" && byId("texts").value === "")) {
    byId("query").value = example().query;
    byId("texts").value = example().texts.join("\n");
  }
  byId("texts-help").textContent = example().help;
  byId("labels-field").hidden = mode() !== "score" || classNames !== null;
}

// Bars of scores that are probabilities show them as they are. Of other scores, such as logits, the longest bar is that of
// the best one.
function lengthsOf(scores) {
  const least = Math.min(...scores);
  const most = Math.max(...scores);
  return least >= 0 && most <= 1 ? scores : scores.map((score) => most > least ? (score - least) / (most - least) : 1);
}

// A line with a bar. `name` may be empty.
function scoreLine(name, score, length) {
  const value = score.toFixed(4);
  const label = `${name === "" ? "score" : name} ${value}`;
  const children = [bar([length], label), element("span", "", value)];
  return name === "" ? element("div", "score", ...children)
    : element("div", "score named", element("span", "", name), ...children);
}

function resultItem(text, lines, isFirst) {
  return element("li", isFirst ? "first" : "", element("p", "", text), ...lines);
}

async function rerank(query, texts, signal) {
  const reply = await callJson("v1/rerank", {query, documents: texts}, signal);
  const lengths = lengthsOf(reply.results.map((result) => result.relevance_score));
  const items = reply.results.map(({index, relevance_score: score}, i) =>
    resultItem(texts[index], [scoreLine("", score, lengths[i])], i === 0));
  return {reply, items};
}

async function score(query, texts, signal) {
  const names = classNames || byId("labels").value.split(",");
  const kind = classNames === null ? {labels: names} : {};
  const items = texts.map(continued);
  const reply = await callJson("v1/score", {query, items, ...kind, apply_softmax: true}, signal);
  return {
    reply,
    items: reply.scores.map((scores, i) => resultItem(texts[i],
      scores.map((one, label) => scoreLine(names[label] || String(label), one, one)), false)),
  };
}

let comparing = new AbortController();

async function compare() {
  comparing.abort();
  comparing = new AbortController();
  const {signal} = comparing;
  byId("compare-fault").textContent = "";
  byId("compared").setAttribute("aria-busy", "true");
  try {
    const {reply, items} = await (mode() === "rerank" ? rerank : score)(byId("query").value, linesOf("texts"), signal);
    const list = element("ol", "", ...items);
    const time = element("p", "note", `${secondsText(reply.timings.total_ms / 1000)} in the service`);
    byId("compared").replaceChildren(list, cacheUse(reply.usage), time);
  } catch (fault) {
    if (!signal.aborted) {
      byId("compared").replaceChildren();
      byId("compare-fault").textContent = faultText(fault);
    }
  }
  if (!signal.aborted) {
    byId("compared").removeAttribute("aria-busy");
  }
}

// `modes`: which of "rerank" and "score" the model has.
function offerComparison(modes, classes) {
  classNames = classes;
  byId("compare").elements.mode.value = modes[0];
  byId("modes").hidden = modes.length < 2;
  showExample();
  byId("compare-section").hidden = false;
}
