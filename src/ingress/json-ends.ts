// Checks the first and last character of a body: whether it could be a JSON object. It is parsed later, when it is processed.

const open = 0x7b
const close = 0x7d

/** True when the first byte that is no white space (or byte order mark) is `{` and the last is `}`. Nothing is parsed. */
export function looksLikeJsonObject(body: Uint8Array): boolean {
  const mark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const first = body.subarray(mark ? 3 : 0).find(byte => !isSpace(byte))
  return first === open && body.findLast(byte => !isSpace(byte)) === close && body.length > 1
}

/** White space as in RFC 8259, section 2. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
