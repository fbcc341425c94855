// Looks at the configuration file from time to time, and has it reloaded when it has changed and is complete.
//
// A writer may be in the middle of it, and half a file may be valid. So a change counts when two looks in a row find the same text. What is reloaded is
// the text that was seen twice, not what the file has become since.
import { every, type Timer } from '../lib/timer.ts'
import { readConfigText } from '../daemon/configuration/config-file.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { Wrong } from '../daemon/configuration/config-fault.ts'

/** Between two looks, ms. */
const watchEvery = 2_000

/** The file's text, or why it has none. */
export type Look = string | Wrong

/** Answers the look that has found a change, if the look before found the same. `loaded`: found before the running configuration was read. */
export function completeChange(loaded: Look): (now: Look) => Look | undefined {
  const textOf = (look: Look): string => (typeof look === 'string' ? look : look.what)
  let [known, before] = [textOf(loaded), textOf(loaded)]
  return look => {
    const now = textOf(look)
    const isComplete = now === before
    before = now
    if (!isComplete || now === known) return undefined
    known = now
    return look
  }
}

export interface WatchOptions {
  readonly file: string
  readonly loaded: Look
  readonly log: Log
  /** Between two looks. */
  readonly everyMs?: number
}

/** `reload`: called with the content of a file that has changed. */
export function watchConfig(
  { file, loaded, log, everyMs = watchEvery }: WatchOptions,
  reload: (text: string) => void,
): Timer {
  const changeAt = completeChange(loaded)
  const look = (): void => {
    const change = changeAt(readConfigText(file))
    if (change === undefined) return
    if (typeof change === 'string') reload(change)
    else log.warn({ reason: change.what }, 'the configuration file cannot be used: the running configuration stays')
  }
  return every(everyMs, look, error =>
    log.warn({ reason: reasonOf(error) }, 'the configuration file cannot be looked at'),
  )
}
