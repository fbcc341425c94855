// A lane's gate out of two: credentials belong to the destination, so refused ones stop all its lanes; an endpoint that refuses
// everything is one signal's, so only that lane is held. A destination that has accepted anything is not a wrong address: what
// it then refuses is a dead letter.
import type { Gate } from './gate.ts'

export function createLaneGate(destination: Gate, lane: Gate): Gate {
  /** Which of the two let the probe in. */
  let probed = lane
  const decisive = (): Gate => (destination.state === 'open' ? lane : destination)
  return {
    get state() {
      return decisive().state
    },
    get hasAccepted() {
      return destination.hasAccepted
    },
    get probeAt() {
      return decisive().probeAt
    },
    admit: async () => {
      const admission = await destination.admit()
      if (admission.go !== 'all') {
        probed = destination
        return admission
      }
      probed = lane
      return lane.admit()
    },
    probed: used => probed.probed(used),
    accepted: startedAt => {
      destination.accepted(startedAt)
      lane.accepted(startedAt)
    },
    authorized: startedAt => destination.authorized(startedAt),
    unauthorized: (sentence, token) => destination.unauthorized(sentence, token),
    hold: sentence => lane.hold(sentence),
  }
}
