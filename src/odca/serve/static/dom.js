// Elements are made from names, attributes and texts. Nothing here parses HTML, so no text from data can become an element.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("p", {class: "hint"}, "text", element, ...). */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A name that came from data: whatever its direction, it does not turn what stands around it. */
export function name(text, attributes = {}) {
  return h("bdi", { class: "name", title: text.length > 30 ? text : null, ...attributes }, text === "" ? "(empty)" : text);
}

/** Replace the children of `element` only if `data` has changed since the last call, so that a selection or a focus survives. */
export function refresh(element, data, children) {
  const key = JSON.stringify(data);
  if (element.odcaKey === key) return false;
  element.odcaKey = key;
  element.replaceChildren(...[children()].flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return true;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A line to copy, with a button that does. */
export function copyable(text) {
  const button = h("button", { type: "button", class: "quiet" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const code = h("code", {}, text);
  return h("div", { class: "copyable" }, h("pre", { tabindex: "0", "aria-label": "Command" }, code), button);
}
