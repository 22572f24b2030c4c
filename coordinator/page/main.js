// What the page offers depends on the model.

// The names of a classifier's classes, in their order; null if the model has none.
function classesOf(info) {
  const {classifier} = info.model_type;
  return classifier && classifier.id2label ? Object.values(classifier.id2label) : null;
}

function describe(model, info) {
  byId("model").textContent = `${model.id} · ${info.model_dtype}`;
  document.title = `${model.id} · scorecast`;
}

// Shows the forms that the model can serve.
async function showForms() {
  const {data: [model]} = await callJson("v1/models");
  const info = await callJson("info");
  const can = (ability) => model.model_ability.includes(ability);
  describe(model, info);
  // An embedder reranks by cosines.
  const reranks = can("rerank") || can("embed");
  const scores = can("generate") || classesOf(info) !== null;
  const modes = [...(reranks ? ["rerank"] : []), ...(scores ? ["score"] : [])];
  if (modes.length > 0) {
    offerComparison(modes, can("generate") ? null : classesOf(info));
  }
  if (can("generate")) {
    offerQuestions();
  }
}

// The same, as soon as the service can be asked. Ends if it wants another key, with which the page tries again.
async function offer() {
  for (;;) {
    try {
      return await showForms();
    } catch (fault) {
      if (fault instanceof Refused && fault.status === 401) {
        return undefined;
      }
      await new Promise((resolve) => setTimeout(resolve, PERIOD_SECONDS * 1000));
    }
  }
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
    useKey("");
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
  watch();
  offer();
}

start();
