// Errors of rotations. Nothing is lost: the next run finishes the rotation or rolls it back.
import { Fault } from '../lib/fault.ts'

/** A rotation cannot start or continue. It never contains a token. */
export class RotationError extends Fault {}

/** Another rotation of the same target is under way. */
export class RotationBusy extends Fault {
  constructor(target: string, holder: string) {
    super(
      `Another rotation of ${target} is running (${holder}).`,
      'Let it finish; if it has died, the next run takes over automatically.',
    )
  }
}
