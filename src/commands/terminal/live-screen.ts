// What a person looks at in `pipespan top`, and how keys change it. Pure.
import { withoutLast } from './fitted-text.ts'

export interface Screen {
  /** The key of the selected pipeline. It stays selected where its line moves. */
  readonly selected?: string | undefined
  /** Only pipelines with this text are listed; empty: all. */
  readonly filter: string
  /** Keys are added to the filter. */
  readonly isTyping: boolean
  /** The key of the pipeline whose waterfall is shown. */
  readonly opened?: string | undefined
  /** Lines of the waterfall above the screen. */
  readonly scrolled: number
}

export const firstScreen: Screen = { filter: '', isTyping: false, scrolled: 0 }

/** As `readline` reports it. */
export interface Key {
  readonly name?: string | undefined
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
}

/** `keys`: of the listed pipelines, in their order; `page`: lines of a page. */
export function pressed(
  screen: Screen,
  key: Key,
  { keys, page }: { readonly keys: readonly string[]; readonly page: number },
): Screen | 'quit' {
  if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return 'quit'
  if (screen.isTyping) return typed(screen, key, keys)
  if (key.name === 'q') return 'quit'
  if (screen.opened !== undefined) return inWaterfall(screen, key, page)
  switch (key.name) {
    case 'return':
    case 'enter':
    case 'right': {
      const chosen = selectedAmong(screen, keys) ?? keys[0]
      return chosen === undefined ? screen : { ...screen, selected: chosen, opened: chosen, scrolled: 0 }
    }
    case 'escape':
      return { ...screen, filter: '', selected: screen.filter === '' ? undefined : screen.selected }
    default:
      if (key.sequence === '/') return { ...screen, isTyping: true }
      return moved(screen, key, keys, page)
  }
}

function moved(screen: Screen, { name }: Key, keys: readonly string[], page: number): Screen {
  const chosen = selectedAmong(screen, keys)
  const at = chosen === undefined ? -1 : keys.indexOf(chosen)
  const to = targetOf(name, at, page, keys.length - 1)
  if (to === undefined || keys.length === 0) return screen
  return { ...screen, selected: keys[Math.min(keys.length - 1, Math.max(0, to))] }
}

function inWaterfall(screen: Screen, { name }: Key, page: number): Screen {
  if (name === 'escape' || name === 'left' || name === 'backspace') return { ...screen, opened: undefined, scrolled: 0 }
  const to = targetOf(name, screen.scrolled, page, Number.MAX_SAFE_INTEGER)
  return to === undefined ? screen : { ...screen, scrolled: Math.max(0, to) }
}

function targetOf(name: string | undefined, at: number, page: number, last: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { up: at - 1, k: at - 1, down: at + 1, j: at + 1, home: 0, end: last }
  if (name === 'pageup') return at - page
  if (name === 'pagedown') return at + page
  return name === undefined ? undefined : steps[name]
}

function typed(screen: Screen, key: Key, keys: readonly string[]): Screen {
  const { name, sequence = '', ctrl, meta } = key
  switch (name) {
    case 'return':
    case 'enter':
      return { ...screen, isTyping: false, selected: selectedAmong(screen, keys) ?? keys[0] }
    case 'escape':
      return { ...screen, isTyping: false, filter: '' }
    case 'backspace':
      return { ...screen, filter: withoutLast(screen.filter) }
    case 'up':
    case 'down':
      return moved(screen, key, keys, 1)
    default:
      if (ctrl === true || meta === true || /\p{C}/u.test(sequence)) return screen
      return { ...screen, filter: screen.filter + sequence }
  }
}

/** Undefined if it is no longer listed. */
function selectedAmong({ selected }: Screen, keys: readonly string[]): string | undefined {
  return selected !== undefined && keys.includes(selected) ? selected : undefined
}
