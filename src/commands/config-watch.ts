// Polls the configuration file, and triggers a reload when the file has changed and is complete.
//
// An editor or a program may still be writing the file, and half a file may be valid. So a change counts only once two consecutive checks find the
// same identity, size, time and content. The content that was seen twice is reloaded, even if the file has changed again since. A file that was only
// touched also counts as changed, because its last reload may have been rejected because of another file, such as a certificate.
import { statSync } from 'node:fs'
import { every, type Timer } from '../lib/timer.ts'
import { readConfigText } from '../daemon/configuration/config-file.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'

/** The interval between checks of the configuration file, ms. */
const defaultIntervalMs = 2_000

/**
 * The result of a check: the file's text, or why it cannot be read. Two results have the same `key` if the same file had the same content in both
 * checks.
 */
export interface FileCheck {
  readonly key: string
  readonly text?: string
}

/**
 * Checks the configuration file. `stat` and reading follow symlinks, because Kubernetes updates a ConfigMap by pointing a symlink at another folder.
 */
export function checkFile(file: string): FileCheck {
  const text = readConfigText(file)
  if (typeof text === 'object') return { key: text.what }
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false })
  return { key: [stats?.dev, stats?.ino, stats?.size, stats?.mtimeNs, text].join(), text }
}

/**
 * Returns a function that reports a change once two consecutive checks have found the same content. `loaded` is a check made before the running
 * configuration was read.
 */
export function completeChange(loaded: FileCheck): (now: FileCheck) => FileCheck | undefined {
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
  readonly loaded: FileCheck
  readonly log: Log
  /** The interval between checks; two seconds by default. */
  readonly everyMs?: number
}

/** Calls `reload` with the content of a changed file. */
export function watchConfig(
  { file, loaded, log, everyMs = defaultIntervalMs }: WatchOptions,
  reload: (text: string) => void,
): Timer {
  const changeAt = completeChange(loaded)
  const check = (): void => {
    const change = changeAt(checkFile(file))
    if (change === undefined) return
    if (change.text !== undefined) reload(change.text)
    else
      log.warn({ reason: change.key }, 'the configuration file cannot be used; the running configuration stays in use')
  }
  return every(everyMs, check, error =>
    log.warn({ reason: reasonOf(error) }, 'the configuration file cannot be checked for changes'),
  )
}
