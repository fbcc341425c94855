// The table of texts by name, as a database offers it to the repositories, which alone know what stands in it.
import type { Millis } from '../../model/instant.ts'

export interface KeyValue {
  read(name: string): Promise<string | undefined>
  /** Changes one under a lock; undefined removes it. */
  change<T>(
    name: string,
    change: (value: string | undefined, now: Millis) => { readonly value: string | undefined; readonly result: T },
  ): Promise<T>
  /** Those whose name begins so, in the order of their names. */
  list(prefix: string): Promise<readonly { readonly name: string; readonly value: string }[]>
  now(): Promise<Millis>
}
