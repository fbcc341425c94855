// Generates mutants of a source file: small mistakes that it could contain. Each mutant is a single edit that the tests should detect. Code that does
// not affect behaviour is not changed: comments, types, imports, log messages and error messages.
import ts from 'typescript'

export interface Mutant {
  readonly file: string
  readonly line: number
  readonly start: number
  readonly end: number
  readonly text: string
  /** A human-readable description of the change: the original text and its replacement. */
  readonly change: string
}

const { SyntaxKind: K } = ts

/** The operators that each operator may be mistaken for. */
const operators = new Map<ts.SyntaxKind, readonly string[]>([
  [K.LessThanToken, ['<=', '>=']],
  [K.LessThanEqualsToken, ['<', '>']],
  [K.GreaterThanToken, ['>=', '<=']],
  [K.GreaterThanEqualsToken, ['>', '<']],
  [K.EqualsEqualsEqualsToken, ['!==']],
  [K.ExclamationEqualsEqualsToken, ['===']],
  [K.EqualsEqualsToken, ['!=']],
  [K.ExclamationEqualsToken, ['==']],
  [K.AmpersandAmpersandToken, ['||']],
  [K.BarBarToken, ['&&']],
  [K.PlusToken, ['-']],
  [K.MinusToken, ['+']],
  [K.AsteriskToken, ['/']],
  [K.SlashToken, ['*']],
  [K.PercentToken, ['*']],
  [K.PlusEqualsToken, ['-=']],
  [K.MinusEqualsToken, ['+=']],
])

const methods = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['toSorted', 'slice'],
])

/** The mutations of SQL statements: each pattern and its replacement. */
const sql: readonly (readonly [RegExp, string])[] = [
  [/(?<![-<=>|])<(?![=>])/g, '<='],
  [/<=/g, '<'],
  [/(?<![-<=>|])>(?![=>])/g, '>='],
  [/>=/g, '>'],
  [/\bAND\b/g, 'OR'],
  [/\bOR\b(?! (?:IGNORE|REPLACE))/g, 'AND'],
  [/\bIS NULL\b/g, 'IS NOT NULL'],
  [/\bIS NOT NULL\b/g, 'IS NULL'],
  [/ DESC\b/g, ''],
  [/\bNOT (?=EXISTS|IN\b)/g, ''],
  [/\b(?:MIN|min)(?=\()/g, 'MAX'],
  [/\b(?:MAX|max)(?=\()/g, 'MIN'],
]
const looksLikeSql = /\b(SELECT|UPDATE|DELETE|INSERT|WHERE|ORDER BY|IS NULL)\b/

const logs = /\blog\??\.(trace|debug|info|warn|error|fatal)$/

/** Returns all mutants of a source file, in source order. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true)
  const found: Mutant[] = []
  const add = (start: number, end: number, replacement: string): void => {
    const line = source.getLineAndCharacterOfPosition(start).line + 1
    const short = (what: string): string => what.replace(/\s+/g, ' ').slice(0, 60) || 'nothing'
    found.push({
      file,
      line,
      start,
      end,
      text: replacement,
      change: `${short(text.slice(start, end))} → ${short(replacement)}`,
    })
  }
  const replace = (node: ts.Node, replacement: string): void => add(node.getStart(source), node.end, replacement)

  /** Negates a condition, unless it consists of an operator that has its own mutants. */
  const negate = (condition: ts.Expression): void => {
    if (!ts.isBinaryExpression(condition) && !ts.isPrefixUnaryExpression(condition))
      replace(condition, `!(${condition.getText()})`)
  }
  const visit = (node: ts.Node): void => {
    if (decidesNothing(node)) return
    if (ts.isBinaryExpression(node)) {
      for (const other of operators.get(node.operatorToken.kind) ?? []) replace(node.operatorToken, other)
      if (node.operatorToken.kind === K.QuestionQuestionToken) replace(node, `(${node.left.getText()})!`)
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken)
      replace(node, node.operand.getText())
    else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression)
    else if (ts.isConditionalExpression(node)) negate(node.condition)
    else if (node.kind === K.TrueKeyword) replace(node, 'false')
    else if (node.kind === K.FalseKeyword) replace(node, 'true')
    else if (ts.isNumericLiteral(node)) replace(node, `(${node.getText()} + 1)`)
    else if (ts.isExpressionStatement(node) && calls(node.expression)) replace(node, ';')
    else if (ts.isBlock(node) && node.statements.length > 0 && !isOneCall(node)) replace(node, '{}')
    else if (
      ts.isPropertyAccessExpression(node) &&
      ts.isCallExpression(node.parent) &&
      node.parent.expression === node
    ) {
      const other = methods.get(node.name.text)
      if (other !== undefined) replace(node.name, other)
    } else if (ts.isStringLiteral(node) && decides(node)) replace(node, `'mutant'`)
    if (ts.isStringLiteralLike(node)) addSql(node, node.getText())
    if (ts.isTemplateExpression(node))
      for (const part of [node.head, ...node.templateSpans.map(span => span.literal)]) addSql(part, node.getText())
    ts.forEachChild(node, visit)
  }
  const addSql = (part: ts.Node, whole: string): void => {
    if (!looksLikeSql.test(whole)) return
    const start = part.getStart(source)
    for (const [pattern, other] of sql)
      for (const match of part.getText().matchAll(pattern))
        add(start + match.index, start + match.index + match[0].length, other)
  }
  visit(source)
  return found.sort((a, b) => a.start - b.start)
}

export function mutated(text: string, mutant: Mutant): string {
  return text.slice(0, mutant.start) + mutant.text + text.slice(mutant.end)
}

function decidesNothing(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true
  if (ts.isExpressionStatement(node)) return isLog(node.expression)
  return isLog(node) || (ts.isNewExpression(node) && /(Error|Fault)$/.test(node.expression.getText()))
}

function isLog(node: ts.Node): boolean {
  const call = ts.isAwaitExpression(node) || ts.isVoidExpression(node) ? node.expression : node
  return ts.isCallExpression(call) && logs.test(call.expression.getText())
}

/** Whether the expression is a call whose result is not used. */
function calls(node: ts.Expression): boolean {
  const call = ts.isAwaitExpression(node) || ts.isVoidExpression(node) ? node.expression : node
  return ts.isCallExpression(call) && call.expression.kind !== K.SuperKeyword
}

function isOneCall({ statements }: ts.Block): boolean {
  const [only] = statements
  return (
    statements.length === 1 &&
    only !== undefined &&
    ts.isExpressionStatement(only) &&
    (calls(only.expression) || isLog(only.expression))
  )
}

/** Whether a string literal affects a decision: it is compared with a value, or it is an element of a list. */
function decides({ parent }: ts.StringLiteral): boolean {
  if (ts.isCaseClause(parent) || ts.isArrayLiteralExpression(parent)) return true
  return (
    ts.isBinaryExpression(parent) &&
    operators.has(parent.operatorToken.kind) &&
    parent.operatorToken.kind !== K.PlusToken
  )
}
