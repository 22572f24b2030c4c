// The form that asks about documents, and streams the answer.

let asking = null;

function showAsking(isAsking) {
  byId("stop").hidden = !isAsking;
  byId("answer").setAttribute("aria-busy", String(isAsking));
}

function askBody() {
  return {
    system_prompt: byId("instruction").value,
    chunks: linesOf("documents").map(continued),
    question: continued(byId("question").value),
    max_new_tokens: Number(byId("longest").value),
    stream: true,
  };
}

// The answer so far is always shown without the space with which it begins.
function showAnswer(text) {
  byId("answer").textContent = text.trimStart();
}

async function readAnswer(signal) {
  const began = performance.now();
  let text = "";
  let first = null;
  for await (const event of eventsOf(await call("v1/chunked", askBody(), signal))) {
    if (event.object === "chunked.delta") {
      first = first || performance.now() - began;
      text += event.text;
      showAnswer(text);
    } else {
      const time = `${countText(event.usage.completion_tokens, "token")} in ${secondsText((performance.now() - began) / 1000)}` +
        (first === null ? "" : `, the first after ${secondsText(first / 1000)}`);
      byId("answer-use").replaceChildren(cacheUse(event.usage), element("p", "note", time));
      showAnswer(event.outputs[0].text);
    }
  }
}

async function ask() {
  if (asking !== null) {
    asking.abort();
  }
  const own = new AbortController();
  asking = own;
  byId("ask-fault").textContent = "";
  byId("answered").hidden = false;
  byId("answer-use").replaceChildren();
  showAnswer("");
  showAsking(true);
  try {
    await readAnswer(own.signal);
  } catch (fault) {
    if (!own.signal.aborted) {
      byId("answered").hidden = byId("answer").textContent === "";
      byId("ask-fault").textContent = faultText(fault);
    }
  }
  // Another question may have been asked meanwhile.
  if (asking === own) {
    asking = null;
    showAsking(false);
  }
}

function offerQuestions(isOffered) {
  if (byId("documents").value === "") {
    byId("documents").value = ["Anna lives in Oslo. Anna works as a baker.", "The red key is in the kitchen.",
      "The blue key is in the tower.", "The green ring costs 12 coins."].join("\n");
    byId("question").value = "Where is the red key?";
  }
  byId("ask-section").hidden = !isOffered;
}
