// Errors of rotations. They lose nothing: the next run finishes the rotation or rolls it back.
import { Fault } from '../../lib/fault.ts'

/** A rotation cannot start or continue. The error never contains a token. */
export class RotationError extends Fault {}

/** Another rotation of the same target is running. */
export class RotationBusy extends Fault {
  constructor(target: string, holder: string) {
    super(
      `Another rotation of ${target} is running (${holder}).`,
      'Let it finish. If it was killed, the next run takes over automatically.',
    )
  }
}
