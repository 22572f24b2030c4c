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

// A text with lines of a bar each. `names`: those of the lines; null if there is one, which needs none.
function resultItem(text, names, scores, lengths, isFirst) {
  const lines = scores.map((score, i) => {
    const value = score.toFixed(4);
    const name = names === null ? null : names[i] || String(i);
    return element("div", "score", ...(name === null ? [] : [element("span", "", name)]),
      bar([lengths[i]], `${name === null ? "score" : name} ${value}`), element("span", "", value));
  });
  return element("li", isFirst ? "first" : "", element("p", "", text),
    element("div", names === null ? "scores" : "scores named", ...lines));
}

async function rerank(query, texts, signal) {
  const reply = await callJson("v1/rerank", {query, documents: texts}, signal);
  const lengths = lengthsOf(reply.results.map((result) => result.relevance_score));
  const items = reply.results.map(({index, relevance_score: score}, i) =>
    resultItem(texts[index], null, [score], [lengths[i]], i === 0));
  return {reply, items};
}

async function score(query, texts, signal) {
  const names = classNames || byId("labels").value.split(",");
  const kind = classNames === null ? {labels: names} : {};
  const items = texts.map(continued);
  const reply = await callJson("v1/score", {query, items, ...kind, apply_softmax: true}, signal);
  return {reply, items: reply.scores.map((scores, i) => resultItem(texts[i], names, scores, scores, false))};
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

// `modes`: which of "rerank" and "score" the model has. The chosen one stays if it is among them.
function offerComparison({modes, classes, about}) {
  classNames = classes;
  if (byId("compare-section").hidden || !modes.includes(mode())) {
    byId("compare").elements.mode.value = modes[0];
  }
  byId("modes").hidden = modes.length < 2;
  byId("about").textContent = about;
  showExample();
  byId("compare-section").hidden = false;
}
