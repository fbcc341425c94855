// Keeps an open page up to date. It requests the page again from the server and patches the regions that differ.
//
// Elements are reused where possible, so that focus, selection, scroll positions, hovering and opened details survive. An old child is reused for the
// new child with the same key: its ID, or the address of the first link in a row, because each row of a list has its own link. Children without a key
// are reused in order for new ones with the same element name.
const sign = document.getElementById('live')
/** The HTML of each region as last sent by the server. The displayed HTML may differ, because scripts change it. */
const last = new Map([...document.querySelectorAll('[data-region]')].map(region => [region.id, undefined]))
/** The pause between a response and the next request, ms. */
const pause = 1_000
/**
 * The page's last `etag`. The `If-None-Match` header is sent even before the page has an `etag`, because the server recognizes an open page by this
 * header.
 */
let tag = '"none"'

if (sign !== null) setTimeout(ask, pause)

async function ask() {
  // A page in the background is not updated, because nobody is looking at it.
  const next = document.hidden ? pause : await update().catch(lost)
  if (next !== undefined) setTimeout(ask, next)
}

function lost() {
  say('lost', 'Connection lost, trying again')
  return pause
}

/** Updates the page. Returns the delay before the next request, ms; undefined if the page will not change any more. */
async function update() {
  const answer = await fetch(location.href, { headers: { 'if-none-match': tag }, redirect: 'manual' })
  if (answer.type === 'opaqueredirect') {
    say('lost', 'Logged out: reload the page')
    return pause
  }
  if (answer.status === 429) {
    say('busy', 'Busy, trying again')
    return Math.max(pause, (Number(answer.headers.get('retry-after')) || 0) * 1_000)
  }
  if (answer.status !== 304) {
    if (!answer.ok) throw new Error(answer.statusText)
    const sent = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const isLive = sent.getElementById('live') !== null
    // A page without regions comes from a proxy, not from the daemon.
    if (!isLive && sent.querySelector('[data-region]') === null) throw new Error('not a page of the daemon')
    show(sent)
    if (!isLive) return sign.remove()
    tag = answer.headers.get('etag') ?? tag
  }
  say('live', 'Up to date')
  return pause
}

function show(sent) {
  const changed = [...sent.querySelectorAll('[data-region]')].filter(({ id, innerHTML }) => last.get(id) !== innerHTML)
  for (const { id, innerHTML } of changed) last.set(id, innerHTML)
  dispatchEvent(new CustomEvent('received', { detail: sent }))
  for (const after of changed) replace(document.getElementById(after.id), after)
}

function say(state, text) {
  if (sign.dataset.state !== state) sign.dataset.state = state
  if (sign.textContent !== text) sign.textContent = text
}

function replace(before, after) {
  if (before === null) return
  const { activeElement } = document
  const selection = getSelection()
  const { anchorNode: from, anchorOffset, focusNode: to, focusOffset } = selection
  changeChildren(before, after)
  if (activeElement !== document.activeElement && activeElement.isConnected)
    activeElement.focus({ preventScroll: true })
  // Moving a row clears the selection in it, even with `moveBefore`.
  if ((selection.anchorNode !== from || selection.focusNode !== to) && from.isConnected && to.isConnected)
    selection.setBaseAndExtent(from, within(from, anchorOffset), to, within(to, focusOffset))
  before.dispatchEvent(new CustomEvent('replaced', { bubbles: true }))
}

function within(node, offset) {
  return Math.min(offset, node.nodeValue?.length ?? node.childNodes.length)
}

function changeChildren(before, after) {
  const old = [...before.childNodes]
  const byKey = new Map(old.map(node => [keyOf(node), node]))
  const taken = new Set()
  const kept = [...after.childNodes].map(node => {
    const key = keyOf(node)
    const isFree = one => !taken.has(one) && one.nodeName === node.nodeName
    const same = key === undefined ? old.find(one => isFree(one) && keyOf(one) === undefined) : byKey.get(key)
    const own = same !== undefined && isFree(same) ? change(same, node) : node
    taken.add(own)
    return own
  })
  for (const node of old) if (!taken.has(node)) node.remove()
  let place = before.firstChild
  for (const node of kept) {
    if (node === place) place = place.nextSibling
    // `moveBefore` keeps focus in the moved element, but not all browsers support it.
    else if (node.parentNode === before && before.moveBefore !== undefined) before.moveBefore(node, place)
    else before.insertBefore(node, place)
  }
}

function change(before, after) {
  if (before.nodeType !== Node.ELEMENT_NODE) {
    if (before.nodeValue !== after.nodeValue) before.nodeValue = after.nodeValue
    return before
  }
  for (const { name } of [...before.attributes]) {
    // The `open` attribute of `details` elements is left alone, because users open and close them.
    if (!after.hasAttribute(name) && !(name === 'open' && before.localName === 'details')) before.removeAttribute(name)
  }
  for (const { name, value } of after.attributes) {
    if (before.getAttribute(name) !== value && !(name === 'open' && before.localName === 'details'))
      before.setAttribute(name, value)
  }
  changeChildren(before, after)
  return before
}

function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return undefined
  if (node.id !== '') return `#${node.id}`
  const link = node.matches('tr, li, .run') ? node.querySelector('a[href]') : null
  return link === null ? undefined : `row ${link.getAttribute('href')}`
}
