// Small JSON documents by name that outlive the process and are shared by replicas and commands: the poller's cursors, the
// API budget, rotations, which daemon uses which token. And leases: who alone may do a thing for now.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

export interface Notes {
  /** What is damaged is as if it had never been written. */
  read(name: string): Promise<Json | undefined>
  /** The same with the instant of reading on the clock that `change` has, for whoever reckons with instants in it and writes nothing. */
  readAt(name: string): Promise<{ readonly value: Json | undefined; readonly now: number }>
  /** Changes one document under a lock; `change` is pure and may be called again. Undefined removes it. */
  change<T>(
    name: string,
    change: (value: Json | undefined, now: number) => { value: Json | undefined; result: T },
  ): Promise<T>
  /** All documents whose name begins so. Null: it is damaged. */
  list(prefix: string): Promise<ReadonlyMap<string, Json>>
}

export interface Leases {
  /** True when `holder` has the lease until `ms` from now: it was free, had run out, or was its own already. */
  take(name: string, holder: string, ms: number): Promise<boolean>
  /** Gives it back, if it is the holder's. */
  release(name: string, holder: string): Promise<void>
}
