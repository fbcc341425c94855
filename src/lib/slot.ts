// A slot is a part of a page or of an API response to which features add values. The declaration of a slot defines the type of the values, without
// reference to any feature.

/** The values that a feature adds to one slot (`ConsolePart.fills`). */
export interface Filling {
  readonly slot: object
  readonly value: unknown
}

export class Slot<Value> {
  with(value: Value): Filling {
    return { slot: this, value }
  }

  /** Returns the values in the slot, in the order of the features. */
  of({ fillings }: { readonly fillings: readonly Filling[] }): readonly Value[] {
    return fillings.flatMap(one => (one.slot === this ? [one.value as Value] : []))
  }
}
