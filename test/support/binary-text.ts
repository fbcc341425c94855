// Generates strings of any characters. fast-check's own generator (`unit: 'binary'`) builds a table of all 1,112,064 characters each time it is
// called.
import fc from 'fast-check'

/** The range of surrogates. Half of a surrogate pair is not a character. */
const [firstSurrogate, surrogates] = [0xd8_00, 0x8_00]

const anyCharacter = fc.integer({ min: 0, max: 0x10_ff_ff - surrogates }).map(
  place => String.fromCodePoint(place < firstSurrogate ? place : place + surrogates),
  // Maps a character back to its integer. This lets fast-check also try strings such as `__proto__`, and shrink them.
  character => {
    const point = typeof character === 'string' ? character.codePointAt(0) : undefined
    if (point === undefined || String.fromCodePoint(point) !== character) throw new Error('This is not one character.')
    return point < firstSurrogate ? point : point - surrogates
  },
)

export const binaryText = (constraints: fc.StringSharedConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: anyCharacter })
