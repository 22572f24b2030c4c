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

const PLOT_WIDTH = 120;
const PLOT_HEIGHT = 40;

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  return made;
}

// The parts of a line without gaps: each a list of points. A value may be null.
function piecesOf(values, length, most) {
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
    const x = (length - values.length + i) / (length - 1) * PLOT_WIDTH;
    piece.push([x.toFixed(2), (PLOT_HEIGHT * (1 - value / most)).toFixed(2)]);
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
  constructor(title, {length, format, most = 0, id}) {
    this.title = title;
    this.length = length;
    this.format = format;
    this.most = most;
    this.highest = element("span", "highest");
    this.value = element("span", "value");
    this.detail = element("p", "detail");
    this.area = svg("path", {class: "area"});
    this.first = svg("path", {});
    this.second = svg("path", {class: "second"});
    this.figure = svg("svg", {
      class: "plot", viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: "none", role: "img",
    });
    this.figure.append(this.area, this.second, this.first);
    this.item = element("li", "", element("p", "head", title), element("p", "head", this.value, this.highest),
      this.figure, this.detail);
    this.item.id = id;
  }

  // `second`: values of a line behind that of `values`, or none.
  show(values, detail, second = []) {
    const known = [...values, ...second].filter((value) => value !== null);
    const highest = Math.max(this.most, ...known);
    const most = highest > 0 ? highest : 1;
    const pieces = piecesOf(values, this.length, most);
    this.area.setAttribute("d", pieces.map(areaUnder).join(""));
    this.first.setAttribute("d", pieces.map(lineThrough).join(""));
    this.second.setAttribute("d", piecesOf(second, this.length, most).map(lineThrough).join(""));
    const last = values.length > 0 ? values[values.length - 1] : null;
    const now = last === null ? "–" : this.format(last);
    this.value.textContent = now;
    this.highest.textContent = this.most > 0 || known.length === 0 ? "" : `max ${this.format(Math.max(...known))}`;
    this.detail.textContent = detail;
    this.figure.setAttribute("aria-label", `${this.title}: ${last === null ? "none" : now} now` +
      (known.length > 0 ? `, at most ${this.format(Math.max(...known))} in the last two minutes` : ""));
  }
}
