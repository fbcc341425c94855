// Zooms and pans waterfalls: with buttons, with the mouse wheel and a modifier key, by dragging, with two fingers, and with the keyboard. The zoom
// state is stored per surrounding region, because the region survives when a live page replaces its content.
/** The maximum zoom factor. */
const maxZoom = 500
/** The distances between lines of the time axis to choose from, s, if more than 8 s are visible. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800]
/** The visible part of each region's waterfall: the `zoom` factor, and the start `from`, as a fraction of the whole. */
const sights = new WeakMap()
/** The fingers and mouse buttons that are currently pressed, by pointer ID. */
const pointers = new Map()

document.body.classList.add('scripted')
addEventListener('click', event => {
  const how = event.target.closest?.('[data-zoom]')?.dataset.zoom
  if (how === undefined) return
  const waterfall = event.target.closest('.waterfall')
  if (how === 'all') show(waterfall, { zoom: 1, from: 0 })
  else zoomBy(waterfall, how === 'in' ? 2 : 0.5, 0.5)
})
addEventListener('keydown', event => {
  const waterfall = event.target
  if (!waterfall.matches?.('.waterfall') || event.ctrlKey || event.metaKey || event.altKey) return
  const act = keys[event.key]
  if (act === undefined || (event.key.startsWith('Arrow') && sightOf(waterfall).zoom === 1)) return
  event.preventDefault()
  act(waterfall)
})
const keys = {
  '+': waterfall => zoomBy(waterfall, 2, 0.5),
  '=': waterfall => zoomBy(waterfall, 2, 0.5),
  '-': waterfall => zoomBy(waterfall, 0.5, 0.5),
  0: waterfall => show(waterfall, { zoom: 1, from: 0 }),
  ArrowLeft: waterfall => panBy(waterfall, -0.2),
  ArrowRight: waterfall => panBy(waterfall, 0.2),
}
addEventListener(
  'wheel',
  event => {
    const waterfall = event.target.closest?.('.waterfall')
    if (waterfall === null || waterfall === undefined) return
    if (event.ctrlKey || event.metaKey || event.shiftKey === true) {
      event.preventDefault()
      if (event.shiftKey) panBy(waterfall, Math.sign(event.deltaY || event.deltaX) * 0.1)
      else zoomBy(waterfall, event.deltaY < 0 ? 1.25 : 0.8, shareAt(waterfall, event.clientX))
    }
  },
  { passive: false },
)
addEventListener('pointerdown', event => {
  const track = event.target.closest?.('.waterfall .track, .waterfall .axis-line')
  if (track === null || track === undefined || event.button !== 0) return
  const waterfall = track.closest('.waterfall')
  pointers.set(event.pointerId, { waterfall, region: regionOf(waterfall), x: event.clientX })
})
addEventListener('pointermove', event => {
  const own = pointers.get(event.pointerId)
  if (own === undefined) return
  // A live page may have replaced the waterfall since the pointer was pressed.
  if (!own.waterfall.isConnected) own.waterfall = own.region.querySelector('.waterfall') ?? own.waterfall
  const others = [...pointers.values()].filter(one => one !== own && one.waterfall === own.waterfall)
  const { waterfall, x } = own
  own.x = event.clientX
  if (others.length === 0) panBy(waterfall, (x - event.clientX) / widthOf(waterfall))
  else {
    const [{ x: other }] = others
    const before = Math.max(20, Math.abs(x - other))
    zoomBy(
      waterfall,
      Math.max(20, Math.abs(event.clientX - other)) / before,
      shareAt(waterfall, (event.clientX + other) / 2),
    )
  }
})
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, event => pointers.delete(event.pointerId))
addEventListener('replaced', event => {
  for (const waterfall of event.target.querySelectorAll?.('.waterfall') ?? []) draw(waterfall, sightOf(waterfall))
})

function regionOf(waterfall) {
  return waterfall.closest('[data-region]') ?? waterfall
}

function sightOf(waterfall) {
  return sights.get(regionOf(waterfall)) ?? { zoom: 1, from: 0 }
}

function widthOf(waterfall) {
  return Math.max(1, waterfall.querySelector('.axis-line').getBoundingClientRect().width)
}

/** Converts a screen x coordinate to a position within the visible part, from 0 to 1. */
function shareAt(waterfall, x) {
  const { left, width } = waterfall.querySelector('.axis-line').getBoundingClientRect()
  return Math.min(1, Math.max(0, (x - left) / Math.max(1, width)))
}

/** Zooms the waterfall around the position `share` of its visible part (0 to 1). */
function zoomBy(waterfall, factor, share) {
  const { zoom, from } = sightOf(waterfall)
  const next = Math.min(maxZoom, Math.max(1, zoom * factor))
  show(waterfall, { zoom: next, from: from + share / zoom - share / next })
}

function panBy(waterfall, share) {
  const { zoom, from } = sightOf(waterfall)
  show(waterfall, { zoom, from: from + share / zoom })
}

function show(waterfall, { zoom, from }) {
  const sight = { zoom, from: Math.min(1 - 1 / zoom, Math.max(0, from)) }
  sights.set(regionOf(waterfall), sight)
  draw(waterfall, sight)
}

function draw(waterfall, { zoom, from }) {
  const { style } = regionOf(waterfall)
  style.setProperty('--zoom', zoom)
  style.setProperty('--from', from)
  const span = Number(waterfall.dataset.span)
  const whole = Number(waterfall.dataset.whole)
  const seconds = span / 1000 / zoom
  const step =
    (seconds <= 8 ? [0.05, 0.1, 0.2, 0.5, 1].find(one => seconds / one <= 8) : steps.find(one => seconds / one <= 8)) ??
    2592000
  const first = Math.floor(((from * 100) / whole) * (span / 1000 / step))
  const places = Array.from({ length: 12 }, (_, index) => (first + index) * step).filter(one => one * 1000 <= span)
  const at = one => `${((one * 1000) / span) * whole}%`
  const [names, lines] = waterfall.querySelectorAll('.axis-line svg, .lines svg')
  names.replaceChildren(...places.map(one => element('text', { x: at(one), y: 14 }, nameOf(one))))
  lines.replaceChildren(...places.map(one => element('line', { x1: at(one), x2: at(one), y1: 0, y2: '100%' })))
}

function element(name, attributes, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.textContent = text
  return made
}

function nameOf(seconds) {
  if (seconds === 0) return '0'
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  const units = [
    ['d', 86400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ]
  let left = Math.round(seconds * 100) / 100
  return units
    .flatMap(([unit, size]) => {
      const count = unit === 's' ? Math.round(left * 100) / 100 : Math.floor(left / size)
      left -= count * size
      return count === 0 ? [] : [`${count} ${unit}`]
    })
    .slice(0, 2)
    .join(' ')
}
