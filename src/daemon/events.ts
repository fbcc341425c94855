// Events with which one part of the daemon wakes another. An event without a listener is harmless: every loop queries the store when it
// starts, and at regular intervals.

export type DaemonEvents = ReturnType<typeof createEvents>

export function createEvents() {
  return {
    /** Deliveries were merged into runs. These may now be due for a snapshot or for enrichment. */
    processed: createEmitter(),
    /** Polling found runs that need details. */
    discovered: createEmitter(),
    /** Answers of the platform were merged into runs. */
    enriched: createEmitter(),
    /** Snapshots were taken, and outbox entries written. */
    pending: createEmitter(),
  }
}

/** Removes all listeners. Called after the parts that listened have stopped. */
export function forgetListeners(events: DaemonEvents): void {
  for (const event of Object.values(events)) event.forget()
}

interface Emitter {
  /** Calls every listener, in the order in which they were added. */
  emit(): void
  /** The listener must not throw. */
  on(listener: () => void): void
  /** Removes all listeners. */
  forget(): void
}

function createEmitter(): Emitter {
  const listeners: (() => void)[] = []
  return {
    emit: () => {
      for (const listener of listeners) listener()
    },
    on: listener => void listeners.push(listener),
    forget: () => void listeners.splice(0),
  }
}
