// The bytes that bodies in flight may hold together, so that many large deliveries cannot exhaust a small container.

/** One request's share. */
export interface BodyClaim {
  /** Claims so many bytes more; false, with nothing claimed, when there are not as many left. */
  grow(bytes: number): boolean
  /** Gives all of it back; may be called twice. */
  release(): void
}

export interface BodyBudget {
  readonly claim: () => BodyClaim
  /** Bytes claimed at this moment. */
  readonly inFlight: () => number
}

/** `total`: bytes. */
export function createBodyBudget(total: number): BodyBudget {
  let inFlight = 0
  return {
    inFlight: () => inFlight,
    claim: () => {
      let held = 0
      return {
        grow: bytes => {
          if (inFlight + bytes > total) return false
          inFlight += bytes
          held += bytes
          return true
        },
        release: () => {
          inFlight -= held
          held = 0
        },
      }
    },
  }
}
