// Looks at the configuration file from time to time, and has it reloaded when it has changed and is complete.
//
// A writer may be in the middle of it, and half a file may be valid. So a change counts when two looks in a row find the same: identity, size, time and
// content. What is reloaded is the content that was seen twice, not what the file has become since. A file that is touched
// counts as changed: its last reload may have been refused because of another file, such as a certificate.
import { statSync } from 'node:fs'
import { every, type Timer } from '../lib/timer.ts'
import { readConfigText } from '../daemon/configuration/config-file.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'

/** Between two looks, ms. */
const watchEvery = 2_000

/** What a look finds: the file's text, or why it has none. `key`: the same for the same file with the same content. */
export interface Look {
  readonly key: string
  readonly text?: string
}

/** `stat` and reading follow links: Kubernetes updates a ConfigMap by a link that leads elsewhere. */
export function lookAt(file: string): Look {
  const text = readConfigText(file)
  if (typeof text === 'object') return { key: text.what }
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false })
  return { key: [stats?.dev, stats?.ino, stats?.size, stats?.mtimeNs, text].join(), text }
}

/** Answers the look that has found a change, if the look before found the same. `loaded`: found before the running configuration was read. */
export function completeChange(loaded: Look): (now: Look) => Look | undefined {
  let known = loaded
  let before = loaded
  return now => {
    const isComplete = now.key === before.key
    before = now
    if (!isComplete || now.key === known.key) return undefined
    known = now
    return now
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
    const change = changeAt(lookAt(file))
    if (change === undefined) return
    if (change.text !== undefined) reload(change.text)
    else log.warn({ reason: change.key }, 'the configuration file cannot be used: the running configuration stays')
  }
  return every(everyMs, look, error =>
    log.warn({ reason: reasonOf(error) }, 'the configuration file cannot be looked at'),
  )
}
