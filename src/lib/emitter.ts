// An event and its listeners, typed; listeners may be added at any time.

export interface Emitter<Facts extends readonly unknown[] = []> {
  /** Calls every listener, in the order in which they came. */
  emit(...facts: Facts): void
  /** The listener must not throw. */
  on(listener: (...facts: Facts) => void): void
}

export function createEmitter<Facts extends readonly unknown[] = []>(): Emitter<Facts> {
  const listeners: ((...facts: Facts) => void)[] = []
  return {
    emit: (...facts) => {
      for (const listener of listeners) listener(...facts)
    },
    on: listener => void listeners.push(listener),
  }
}
