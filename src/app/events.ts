// Events by which one part of the daemon wakes another. An event without a listener is harmless: every loop queries the store when it
// starts, and from time to time.

export type DaemonEvents = ReturnType<typeof createEvents>

export function createEvents() {
  return {
    /** Deliveries were committed to the inbox. */
    accepted: createEmitter(),
    /** One commit of the ingress thread, or the attempt of one. */
    committed: createEmitter<[tookMs: number, failed: boolean]>(),
    /** Deliveries were merged into runs, which may now be due for a snapshot or for enrichment. */
    processed: createEmitter(),
    /** Polling found runs that need details. */
    discovered: createEmitter(),
    /** Answers of the platform were merged into runs. */
    enriched: createEmitter(),
    /** Snapshots were taken, and outbox entries written. */
    pending: createEmitter(),
  }
}

/** Nobody listens any more, as the parts that did have stopped. */
export function forgetListeners(events: DaemonEvents): void {
  for (const event of Object.values(events)) event.forget()
}

interface Emitter<Facts extends readonly unknown[] = []> {
  /** Calls every listener, in the order in which they came. */
  emit(...facts: Facts): void
  /** The listener must not throw. */
  on(listener: (...facts: Facts) => void): void
  /** Removes all listeners. */
  forget(): void
}

function createEmitter<Facts extends readonly unknown[] = []>(): Emitter<Facts> {
  const listeners: ((...facts: Facts) => void)[] = []
  return {
    emit: (...facts) => {
      for (const listener of listeners) listener(...facts)
    },
    on: listener => void listeners.push(listener),
    forget: () => void listeners.splice(0),
  }
}
