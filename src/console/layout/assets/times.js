// Shows times in the browser's time zone, or in UTC if the user has chosen that. The browser stores the choice. The server writes times in UTC, which
// remain in the tooltips. When `pages.js` updates a page, this script converts the received times before they are shown.
const key = 'pipespan-times'
const local = Intl.DateTimeFormat().resolvedOptions().timeZone
let isUtc = remembered() === 'utc'

const forms = {
  near: (at, now) => (dayOf(at) === dayOf(now) ? clockOf(at) : `${dayOf(at)} ${clockOf(at).slice(0, 5)}`),
  clock: at => clockOf(at),
  hour: at => clockOf(at).slice(0, 5),
  minute: at => `${dayOf(at)} ${clockOf(at).slice(0, 5)}`,
  second: at => `${dayOf(at)} ${clockOf(at)}`,
}

show(document)
addEventListener('received', ({ detail }) => show(detail))
const button = document.getElementById('other-zone')
button?.addEventListener('click', () => {
  isUtc = !isUtc
  remember(isUtc ? 'utc' : 'local')
  show(document)
  label()
})
label()

/** Shows all times within the element `root` in the chosen time zone. */
function show(root) {
  const now = new Date()
  for (const element of root.querySelectorAll('[data-form]')) {
    const text = forms[element.dataset.form]?.(new Date(element.dataset.at ?? element.dateTime), now)
    if (text !== undefined && element.textContent !== text) element.textContent = text
  }
}

function label() {
  if (button === null) return
  document.getElementById('zone').textContent = isUtc ? 'UTC' : local
  button.textContent = isUtc ? `Show ${local}` : 'Show UTC'
  button.hidden = local === 'UTC'
}

function dayOf(at) {
  return partsOf(at).slice(0, 10)
}

function clockOf(at) {
  return partsOf(at).slice(11, 19)
}

/** Formats a time in the chosen time zone, such as `2026-05-31T12:00:05`. */
function partsOf(at) {
  const shifted = isUtc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return shifted.toISOString()
}

/** Returns the stored time zone choice. Browsers may deny access to their storage. */
function remembered() {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function remember(choice) {
  try {
    localStorage.setItem(key, choice)
  } catch {
    // If the browser denies access to its storage, the choice applies to this page only.
  }
}
