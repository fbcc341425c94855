// A secret that is reloaded when its file changes. While the file cannot be read, the last valid value remains in use.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { systemClock, type Clock } from '../../lib/clock.ts'
import { quoted, type Wrong } from './config-fault.ts'
import type { Kind, Parsed } from './kind.ts'

/** The minimum interval between checks of the secret's file for changes, ms. */
const minCheckInterval = 1000
/** The maximum size of a secret file, bytes. A larger file is not a secret, so the path is probably wrong. */
const maxBytes = 64 * 1024

export type SecretNews = (sentence: string, level: 'info' | 'warn') => void

interface SecretFileOptions<T> {
  readonly path: string
  /**
   * The secret's setting type, which parses its value. While the daemon runs, a new value is rejected if `Kind.shape` returns a different string for
   * it.
   */
  readonly kind: Kind<T>
  /** Called when the secret's file has been reloaded (`info`) or can no longer be used (`warn`). The sentence contains no secret. */
  readonly onNews?: SecretNews | undefined
  readonly clock?: Clock | undefined
  /** Whether the file may be missing or empty at first. Until it has content, the secret has no value. */
  readonly mayBeMissing?: boolean | undefined
}

export class LiveSecret<T> {
  #value: T | undefined
  #file: SecretFileOptions<T> | undefined
  #version: string | undefined
  #checkedAt = -Infinity
  #problem: string | undefined

  private constructor(value: T | undefined, file?: SecretFileOptions<T>) {
    this.#value = value
    this.#file = file
  }

  /** Creates a secret that is set directly as a value, or not set at all. */
  static fixed<T>(value: T | undefined): LiveSecret<T> {
    return new LiveSecret(value)
  }

  /** Creates a secret that is read from a file. The file must be readable unless it may be missing. */
  static fromFile<T>(options: SecretFileOptions<T>): Parsed<LiveSecret<T>> {
    const { path, mayBeMissing } = options
    const secret = new LiveSecret<T>(undefined, options)
    const isMissing = mayBeMissing === true && (!existsSync(path) || statSync(path).size === 0)
    const wrong = isMissing ? undefined : secret.reload()
    return wrong === undefined ? { value: secret } : { wrong }
  }

  /** Returns the current secret; undefined if none is configured. It is cheap enough to be called on every use. */
  current(): T | undefined {
    if (this.#file !== undefined) {
      const sinceCheck = (this.#file.clock ?? systemClock).now() - this.#checkedAt
      if (sinceCheck >= minCheckInterval || sinceCheck < 0) this.reload()
    }
    return this.#value
  }

  /** The path of the secret's file, if it has one. */
  get path(): string | undefined {
    return this.#file?.path
  }

  /** Checks the file immediately, for example after a backend has rejected the secret. Returns what is wrong with the file, if anything. */
  reload(): Wrong | undefined {
    if (this.#file === undefined) return undefined
    const { clock = systemClock, onNews } = this.#file
    this.#checkedAt = clock.now()
    const isFirst = this.#value === undefined
    const wrong = this.#readIfChanged(this.#file)
    if (wrong !== undefined && !isFirst && wrong.what !== this.#problem)
      onNews?.(`${wrong.what} The previous value stays in use. ${wrong.remedy}`, 'warn')
    this.#problem = wrong?.what
    return wrong
  }

  /** Replaces the value or file of this secret with the value or file of `other`. Called after a configuration reload. */
  adopt(other: LiveSecret<T>): void {
    this.#value = other.#value
    this.#file = other.#file
    this.#version = other.#version
    this.#checkedAt = other.#checkedAt
    this.#problem = other.#problem
  }

  #readIfChanged({ path, kind, onNews }: SecretFileOptions<T>): Wrong | undefined {
    const named = `The secret file ${quoted(path)}`
    try {
      // `stat` follows symlinks. Kubernetes updates a secret by pointing a symlink at a new folder, so the inode changes.
      const stats = statSync(path, { bigint: true })
      if (!stats.isFile() || stats.size > maxBytes) {
        return {
          what: `${named} is not a regular file, or is larger than 64 KiB.`,
          remedy: 'Use the path of the secret file.',
        }
      }
      const version = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join()
      if (version === this.#version && this.#problem === undefined) return undefined
      const text = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '')
      if (text.trim() === '') return { what: `${named} is empty.`, remedy: 'Write the secret to it.' }
      const parsed = kind.parse(text)
      if ('wrong' in parsed) return { ...parsed.wrong, what: `${named}: ${parsed.wrong.what}` }
      if (this.#value !== undefined && kind.shape(parsed.value) !== kind.shape(this.#value)) {
        const what = `${named} has new templates or a new host, which only a reload can apply.`
        return { what, remedy: 'Send SIGHUP to apply it.' }
      }
      const again = this.#value !== undefined && version !== this.#version
      this.#value = parsed.value
      this.#version = version
      if (again) onNews?.(`${named} has changed and was read again.`, 'info')
      return undefined
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
      return { what: `${named} cannot be read (${code}).`, remedy: 'Use a file that this process can read.' }
    }
  }
}
