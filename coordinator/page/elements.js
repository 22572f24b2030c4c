// Elements of the document: plain ones, bars and plots.

function byId(id) {
  return document.getElementById(id);
}

// A new element with a class and text or children.
function element(name, className, ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

// A bar of one or more shares, each from 0 to 1. `label` is for those who do not see it.
function bar(shares, label) {
  const made = element("div", "bar");
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  for (const part of shares) {
    const piece = document.createElement("i");
    piece.style.width = `${Math.min(Math.max(part, 0), 1) * 100}%`;
    made.append(piece);
  }
  return made;
}

// How many of a prompt's tokens came from the cache.
function cacheUse(usage) {
  const {cached_tokens: cached = 0, prompt_tokens: all} = usage;
  const text = `${numberText(cached)} of ${numberText(all)} prompt tokens came from the cache`;
  const made = element("div", "use", bar([all > 0 ? cached / all : 0], text), element("p", "note", text));
  made.dataset.cached = cached;
  return made;
}

// What a bar's "first" or "second" share is, or a plot's line, behind a piece of its colour.
function named(place, text) {
  return element("span", "named", element("i", `swatch ${place}`), text);
}

const PLOT_WIDTH = 120;
const PLOT_HEIGHT = 40;

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  return made;
}

// The least of 1, 2, 5, 10, 20, … that is no less than a value, also of 0.5, 0.2, …; for 0 it is 1.
function roundedUp(value) {
  if (value <= 0) {
    return 1;
  }
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= value * (1 - 1e-9));
}

// The parts of a line without gaps: each a list of points. `values` and their times; a value may be null.
function piecesOf(values, times, end, top) {
  const pieces = [];
  let piece = null;
  values.forEach((value, i) => {
    if (value === null) {
      piece = null;
      return;
    }
    if (piece === null) {
      pieces.push(piece = []);
    }
    const x = (1 - (end - times[i]) / WINDOW_SECONDS) * PLOT_WIDTH;
    piece.push([x.toFixed(2), (PLOT_HEIGHT * (1 - value / top)).toFixed(2)]);
  });
  return pieces;
}

function lineThrough(points) {
  // A line of one point would not be seen.
  const ends = points.length === 1 ? [points[0], points[0]] : points;
  return `M${ends.map((point) => point.join(" ")).join("L")}`;
}

function areaUnder(points) {
  return `${lineThrough(points)}L${points[points.length - 1][0]} ${PLOT_HEIGHT}L${points[0][0]} ${PLOT_HEIGHT}Z`;
}

// A small plot with its title and its last value.
class Plot {
  constructor(title, {format, top = 0, id}) {
    this.title = title;
    this.format = format;
    this.fixedTop = top;
    this.value = element("p", "value");
    this.top = element("span", "top");
    this.detail = element("p", "detail");
    this.area = svg("path", {class: "area"});
    this.first = svg("path", {});
    this.second = svg("path", {class: "second"});
    this.figure = svg("svg", {
      class: "plot", viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: "none", role: "img",
    });
    this.figure.append(this.area, this.second, this.first);
    const times = element("p", "times", element("span", "", "2 min ago"), element("span", "", "now"));
    times.setAttribute("aria-hidden", "true");
    this.top.setAttribute("aria-hidden", "true");
    this.item = element("li", "", element("p", "head", title), this.value,
      element("div", "frame", this.top, this.figure), times, this.detail);
    this.item.id = id;
  }

  // `points`: values at times up to `end`, and values of a second line. `detail`: a text, or parts of one.
  show(points, end, detail) {
    const values = points.map((point) => point.value);
    const second = points.map((point) => point.second);
    const times = points.map((point) => point.seconds);
    const known = [...values, ...second].filter((value) => value !== null);
    const top = this.fixedTop || roundedUp(Math.max(0, ...known));
    const pieces = piecesOf(values, times, end, top);
    this.area.setAttribute("d", pieces.map(areaUnder).join(""));
    this.first.setAttribute("d", pieces.map(lineThrough).join(""));
    this.second.setAttribute("d", piecesOf(second, times, end, top).map(lineThrough).join(""));
    const last = values[values.length - 1];
    const now = last === null ? "–" : this.format(last);
    this.value.textContent = now;
    this.top.textContent = known.length === 0 ? "" : this.format(top);
    this.detail.replaceChildren(...[detail].flat());
    this.figure.setAttribute("aria-label", `${this.title}: ${last === null ? "none" : now} now` +
      (known.length > 0 ? `, at most ${this.format(Math.max(...known))} in the last two minutes` : ""));
  }
}
