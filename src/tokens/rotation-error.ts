// The error of a rotation that cannot go on; nothing is lost by it, the next run finishes or rolls back.
import { Fault } from '../lib/fault.ts'

/** A rotation cannot start or go on. Never holds a token. */
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
