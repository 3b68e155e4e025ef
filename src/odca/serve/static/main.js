// The frame: which view is shown, the token, the colours, and what is said about the connection.

import { get, hasToken, Refused, setToken } from "./connection.js";
import { byId, h, name } from "./dom.js";
import { at } from "./format.js";
import { modelView } from "./model.js";
import { overview } from "./overview.js";

const [main, notice, connection, crumbs] = ["main", "notice", "connection", "crumbs"].map(byId);
const [dialog, tokenField, tokenMessage, tokenButton] = ["token-dialog", "token", "token-message", "token-button"].map(byId);

let view = null;
let service = { needs_token: false, scopes: [] };
let heard = null; // when the service last said something
let alarmed = false;
let title = "odca";

// What views may ask of the frame

const page = {
  needsToken: () => service.needs_token,
  isLive: () => connection.dataset.state === "live",
  title(text, path) {
    title = text;
    showTitle();
    crumbs.replaceChildren(...path.flatMap((each) => [h("span", { "aria-hidden": "true" }, "/"), name(each, { "aria-current": "page" })]));
  },
  alarm(is) {
    alarmed = is;
    showTitle();
  },
  announce(text) {
    byId("announce").append(h("span", {}, text));
  },
  stream: ({ message }) => ({ message, state: showState, refused }),
};

function showTitle() {
  document.title = `${alarmed ? "⚠ " : ""}${title} · odca`;
}

// The connection

function showState(state, seconds, reason) {
  if (state === "connecting" && connection.dataset.state === "waiting") state = "reconnecting";
  if (state === "live") {
    heard = Date.now() / 1000;
    say(null);
  }
  if (state === connection.dataset.state) return;
  connection.dataset.state = state;
  const words = { live: "Live", connecting: "Connecting …", reconnecting: "Reconnecting …", waiting: "Not connected" };
  connection.textContent = words[state];
  if (state === "waiting") {
    const why = reason === "shutdown" ? "The service is shutting down." : "The connection to the service was lost.";
    const old = heard ? ` What you see is from ${at(heard)}.` : "";
    say(`${why}${old} This page reconnects by itself.`, "Try now", () => view?.retry());
  }
}

/** Show a notice over the page, or none. */
function say(text, action, on) {
  if (text === null) {
    if (!notice.hidden) notice.replaceChildren();
    notice.hidden = true;
    return;
  }
  notice.hidden = false;
  notice.replaceChildren(h("p", {}, text), action ? h("button", { type: "button", onclick: on }, action) : "");
}

/** The service does not let us see this. */
function refused(error) {
  connection.dataset.state = "refused";
  connection.textContent = "Not allowed";
  if (error.status === 401) askForToken(hasToken() ? "The service does not know this token. It may have been mistyped or revoked." : "This service needs a token.");
  else {
    const title = error.status === 403 ? "Not allowed" : "There is nothing here";
    connection.textContent = error.status === 403 ? "Not allowed" : "Not found";
    main.replaceChildren(h("section", { class: "panel" }, h("h1", {}, title), h("p", {}, h("bdi", {}, error.message)), h("p", {}, h("a", { href: "#/" }, "All models"))));
  }
}

// The token

function askForToken(message) {
  tokenMessage.textContent = message;
  tokenField.value = "";
  byId("token-forget").hidden = !hasToken();
  if (message) {
    say(message, "Enter a token", () => askForToken(message));
    main.replaceChildren(h("p", { class: "empty" }, "Nothing to see without a token that the service knows."));
  }
  if (!dialog.open) dialog.showModal();
  tokenField.focus();
}

byId("token-form").addEventListener("submit", () => {
  setToken(tokenField.value.trim());
  tokenField.value = "";
  start();
});
byId("token-forget").addEventListener("click", () => {
  setToken("");
  dialog.close();
  start();
});
tokenButton.addEventListener("click", () => askForToken(""));

// Colours

const theme = byId("theme");
function paint(choice) {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  theme.value = choice;
}
paint(["light", "dark"].includes(localStorage.getItem("odca-theme")) ? localStorage.getItem("odca-theme") : "auto");
theme.addEventListener("change", () => {
  localStorage.setItem("odca-theme", theme.value);
  paint(theme.value);
});

// Views

function show() {
  view?.close();
  say(null);
  page.alarm(false);
  const match = /^#\/models\/([^/]+)$/.exec(location.hash);
  view = match ? modelView(main, page, decode(match[1])) : overview(main, page);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function start() {
  view?.close();
  view = null;
  try {
    service = await get("v1/service");
    tokenButton.hidden = !service.needs_token && !hasToken();
    if (service.needs_token && !service.scopes.length) throw new Refused(401, "no-token", "");
  } catch (error) {
    tokenButton.hidden = false;
    if ([401, 403].includes(error.status)) return refused(error);
  }
  show(); // if the service does not answer, the view's stream says so and goes on trying
}

addEventListener("hashchange", async () => {
  await start();
  main.focus();
});
// A page that is left keeps no connection open; browsers have six for each service.
addEventListener("pagehide", () => view?.close());
addEventListener("pageshow", (event) => event.persisted && start());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which view is shown
  main.focus();
});
start();
