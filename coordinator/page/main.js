// What the page offers depends on the model.

// The names of a classifier's classes, in their order, as far as they have names; null if the model is no classifier.
function classesOf(info) {
  const {classifier} = info.model_type;
  return classifier ? Object.values(classifier.id2label || {}) : null;
}

// What the model is, and what it does of what the page has forms for.
function kindOf(model, info) {
  const can = (ability) => model.model_ability.includes(ability);
  if (can("generate")) {
    return {
      name: "language model", modes: [...(can("rerank") ? ["rerank"] : []), "score"], classes: null, asks: true,
      about: can("rerank") ? "" : `This service does not rerank: ${model.rerank_template.reason}.`,
    };
  }
  if (can("embed")) {
    return {
      name: "embedding model", modes: ["rerank"], classes: null, asks: false,
      about: "This model makes vectors of texts. They are ranked by their similarity to the query. It writes no text, so it " +
        "answers no questions.",
    };
  }
  if (can("rerank")) {
    return {
      name: "reranker", modes: ["rerank"], classes: null, asks: false,
      about: "This model gives a pair of texts one score. It writes no text, so it answers no questions.",
    };
  }
  return {
    name: "classifier", modes: ["score"], classes: classesOf(info), asks: false,
    about: "This model gives a pair of texts the probabilities of its classes. It writes no text, so it answers no questions.",
  };
}

function describe(model, info, kind) {
  byId("model").textContent = `${model.id} · ${kind.name} · ${info.model_dtype}`;
  document.title = `${model.id} · scorecast`;
}

// Shows the forms that the model can serve.
async function showForms() {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const {data: [model]} = await callJson("v1/models", undefined, patience);
  const info = await callJson("info", undefined, patience);
  const kind = kindOf(model, info);
  describe(model, info, kind);
  offerComparison(kind);
  offerQuestions(kind.asks);
}

let isOffering = false;

// The same, as soon as the service can be asked. Ends if it wants another key, with which the page tries again.
async function offer() {
  if (isOffering) {
    return;
  }
  isOffering = true;
  for (;;) {
    try {
      await showForms();
      break;
    } catch (fault) {
      if (fault instanceof Refused && fault.status === 401) {
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, PERIOD_SECONDS * 1000));
    }
  }
  isOffering = false;
}

function onSubmit(id, action) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    action();
  });
  byId(id).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      byId(id).requestSubmit();
    }
  });
}

function start() {
  onSubmit("key-form", () => {
    useKey(byId("key").value.trim());
    offer();
  });
  byId("forget").addEventListener("click", () => {
    setKey("");
    location.reload();
  });
  onSubmit("compare", compare);
  byId("modes").addEventListener("change", showExample);
  onSubmit("ask", ask);
  byId("stop").addEventListener("click", () => asking && asking.abort());
  byId("reorder").addEventListener("click", () => {
    byId("documents").value = linesOf("documents").reverse().join("\n");
  });
  byId("forget").hidden = apiKey === "";
  watch(offer);
  offer();
}

start();
