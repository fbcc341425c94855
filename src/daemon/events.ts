// Events by which one part of the daemon wakes another. A missed event is harmless, because every loop queries the store when it starts and at
// regular intervals.

export type DaemonEvents = ReturnType<typeof createEvents>

export function createEvents() {
  return {
    /** Deliveries were merged into runs, which may now be due for a snapshot or for enrichment. */
    processed: createEmitter(),
    /** Polling found runs whose details must be fetched. */
    discovered: createEmitter(),
    /** Responses from the platform were merged into runs. */
    enriched: createEmitter(),
    /** Snapshots were taken and outbox entries written. */
    pending: createEmitter(),
  }
}

/** Removes all listeners of all events. Called after the parts of the daemon that added them have stopped. */
export function forgetListeners(events: DaemonEvents): void {
  for (const event of Object.values(events)) event.forget()
}

interface Emitter {
  /** Calls all listeners in the order in which they were added. */
  emit(): void
  /** Adds a listener, which must not throw. */
  on(listener: () => void): void
  /** Removes all listeners of the event. */
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
