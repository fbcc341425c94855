// The names that attributes of the operator's rules may have: none that Pipespan, the conventions it uses or Prometheus need.

const maxLength = 64

/** First words of the names that Pipespan exports, of the conventions beside them, and of its labels on the metrics page. */
const reserved =
  /^(?:__|(?:cicd|vcs|pipeline|job|platform|project|otel)(?:[._]|$)|(?:client|code|container|deployment|error|event|exception|feature_flag|host|instance|inventory|k8s|le|log|pipespan|quantile|service|source|telemetry|test|user)(?:\.|$))/i

/** The name's form, for the schema. */
export const attributeNamePattern = `^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z0-9_]+)*$`

const form = new RegExp(attributeNamePattern)

/** What is wrong with the name, and the remedy; undefined if nothing is. */
export function wrongAttributeName(name: string): { what: string; remedy: string } | undefined {
  if (!form.test(name) || name.length > maxLength) {
    return {
      what: `"${name.slice(0, maxLength)}" is not the name of an attribute.`,
      remedy: `Write letters, digits, dots and underscores, at most ${maxLength}, such as team or cost.center.`,
    }
  }
  const [word] = reserved.exec(name) ?? []
  return word === undefined ? undefined : reservedName(name, word)
}

/** `word`: its first part, which is reserved. */
export function reservedName(name: string, word: string): { what: string; remedy: string } {
  return {
    what: `The name ${name} is reserved: names that begin with "${word}" are Pipespan's own or the conventions'.`,
    remedy: 'Use another name, such as team, or a namespace of your own, such as acme.team.',
  }
}
