// Requests to the service, and the key that they have.

const KEY_NAME = "scorecast-key";

// Browsers may refuse to store anything. The key then lasts as long as the page.
const storedKey = {
  get: () => {
    try {
      return sessionStorage.getItem(KEY_NAME) || "";
    } catch {
      return "";
    }
  },
  set: (key) => {
    try {
      if (key === "") {
        sessionStorage.removeItem(KEY_NAME);
      } else {
        sessionStorage.setItem(KEY_NAME, key);
      }
    } catch {
      // As above.
    }
  },
};

let apiKey = storedKey.get();

// A reply that is no 2xx. Its message is the service's.
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function messageOf(body, status) {
  return (body && (body.message || (body.error && body.error.message))) || `The service replied with ${status}.`;
}

// A fault as a sentence for the reader.
function faultText(fault) {
  return fault instanceof Refused ? fault.message : `The service cannot be reached (${fault.message}).`;
}

// The reply to a GET, or to a POST if there is a body. URLs are relative, because a proxy may serve the page elsewhere
// than at the root. Throws Refused.
async function call(path, body, signal) {
  const key = apiKey;
  const headers = key === "" ? {} : {Authorization: `Bearer ${key}`};
  const options = {headers, signal, cache: "no-store"};
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  const reply = await fetch(path, options);
  if (!reply.ok) {
    const refused = new Refused(reply.status, messageOf(await reply.json().catch(() => null), reply.status));
    // Another reply may have led to another key meanwhile.
    if (refused.status === 401 && key === apiKey) {
      askForKey(refused.message);
    }
    throw refused;
  }
  return reply;
}

async function callJson(path, body, signal) {
  return (await call(path, body, signal)).json();
}

// The events of a reply that streams, each as JSON.
async function* eventsOf(reply) {
  const reader = reply.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) {
      throw new Error("the reply has no end");
    }
    text += decoder.decode(value, {stream: true});
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data === "[DONE]") {
        return;
      }
      const json = JSON.parse(data);
      if (json.object === "error" || json.error) {
        throw new Refused(json.code, messageOf(json, json.code));
      }
      yield json;
    }
  }
}

// A key of "" is none.
function setKey(key) {
  apiKey = key;
  storedKey.set(key);
  byId("forget").hidden = key === "";
}

// Asks the reader. A key that was refused is of no more use.
function askForKey(message) {
  // Without a key, the service's message says nothing new.
  byId("key-fault").textContent = apiKey === "" ? "" : message;
  setKey("");
  if (byId("key-section").hidden) {
    byId("key-section").hidden = false;
    byId("key").focus();
  }
}

function useKey(key) {
  setKey(key);
  byId("key-section").hidden = true;
  byId("key").value = "";
}
