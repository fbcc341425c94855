// A slot is a part of a page or an answer to which features add values. Its declaration defines the type of the values, and knows none of the features.

/** What a feature puts into one slot (`ConsolePart.fills`). */
export interface Filling {
  readonly slot: object
  readonly value: unknown
}

export class Slot<Value> {
  with(value: Value): Filling {
    return { slot: this, value }
  }

  /** The values in the slot, in the order of the features. */
  of({ fillings }: { readonly fillings: readonly Filling[] }): readonly Value[] {
    return fillings.flatMap(one => (one.slot === this ? [one.value as Value] : []))
  }
}
