// A slot: a part of a page or of an answer to which features add. Whoever declares it says what it takes, and knows none of those that fill it.

/** What a feature puts into one slot (`ConsolePart.fills`). */
export interface Filling {
  readonly slot: object
  readonly value: unknown
}

export class Slot<Value> {
  with(value: Value): Filling {
    return { slot: this, value }
  }

  /** What is in it, in the order of the features. */
  of({ fillings }: { readonly fillings: readonly Filling[] }): readonly Value[] {
    return fillings.flatMap(one => (one.slot === this ? [one.value as Value] : []))
  }
}
