// Keeps an open page up to date: receives the page from the server, and replaces the regions that have changed.
const address = document.body.dataset.live
const sign = document.getElementById('live')

if (address !== undefined && sign !== null) {
  const source = new EventSource(address)
  source.addEventListener('open', () => say('live', 'Up to date'))
  source.addEventListener('error', () => say('lost', 'Connection lost, trying again'))
  source.addEventListener('page', event => {
    const sent = new DOMParser().parseFromString(event.data, 'text/html')
    for (const after of sent.querySelectorAll('[data-region]')) replace(document.getElementById(after.id), after)
    say('live', 'Up to date')
  })
  addEventListener('pagehide', () => source.close())
}

function say(state, text) {
  if (sign.dataset.state !== state) sign.dataset.state = state
  if (sign.textContent !== text) sign.textContent = text
}

/** Replaces a region if it has changed, and keeps what the user has opened, scrolled and focused. */
function replace(before, after) {
  if (before === null || before.innerHTML === after.innerHTML) return
  const { activeElement } = document
  const opened = [...before.querySelectorAll('details')].map(details => details.open)
  const scrolled = [...before.querySelectorAll('.scroll, .short')].map(box => [box.scrollLeft, box.scrollTop])
  const focused = before.contains(activeElement) ? pathTo(before, activeElement) : undefined
  before.innerHTML = after.innerHTML
  before.querySelectorAll('details').forEach((details, index) => (details.open = opened[index] ?? false))
  before.querySelectorAll('.scroll, .short').forEach((box, index) => box.scrollTo(...(scrolled[index] ?? [0, 0])))
  if (focused !== undefined) follow(before, focused)?.focus({ preventScroll: true })
  before.dispatchEvent(new CustomEvent('replaced', { bubbles: true }))
}

function pathTo(root, element) {
  const path = []
  for (let at = element; at !== root; at = at.parentElement) path.unshift([...at.parentElement.children].indexOf(at))
  return path
}

function follow(root, path) {
  return path.reduce((at, index) => at?.children[index], root)
}
