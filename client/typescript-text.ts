/** The parts of an OpenAPI 3.1 document that the client's types are made of. */
export interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components: {
    readonly schemas?: Readonly<Record<string, JsonSchema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
  };
}

interface DocumentOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content } | Reference>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

/** Bytes have no schema. */
type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

interface Reference {
  readonly $ref: string;
}

interface JsonSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly 'x-extensible-enum'?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

export interface Versioned {
  readonly version: string;
  readonly document: Document;
}

const HEADERS: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotencyKey',
  'If-Match': 'ifMatch',
  'If-None-Match': 'ifNoneMatch',
};

/** The text of generated/operations.ts: a type per schema, the input and output of each operation, and their paths. */
export function operationsText(documents: readonly Versioned[]): string {
  const schemas = new Map<string, JsonSchema>();
  for (const { document } of documents) {
    for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
      schemas.set(name, schema);
    }
  }
  const types = [...schemas]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${comment(schema, '')}export type ${name} = ${typeOf(schema)};\n`);
  return [
    '// Generated from the endpoint tables by build-operations.ts; do not edit.\n',
    ...types,
    ...documents.map(interfaceText),
    tableText(documents),
  ].join('\n');
}

function interfaceText({ version, document }: Versioned): string {
  const members = operationsOf(document).map(
    ({ operation, path }) => `  /** ${operation.summary}. */
  ${operation.operationId}: {
    params: ${paramsOf(document, operation, path)};
    query: ${queryOf(document, operation)};
    body: ${bodyOf(operation)};
    headers: ${headersOf(document, operation).map(quote).join(' | ') || 'never'};
    result: ${resultOf(operation)};
  };`,
  );
  const name = `${version.charAt(0).toUpperCase()}${version.slice(1)}Operations`;
  return `/** The operations of ${document.servers[0]?.url ?? ''}. */\nexport interface ${name} {\n${members.join('\n')}\n}\n`;
}

/** A line for each operation, short because every page loads all of them: `createRules POST! /path`, with `!` for Idempotency-Key. */
function tableText(documents: readonly Versioned[]): string {
  const versions = documents.map(({ version, document }) => {
    const lines = operationsOf(document).map(({ operation, path, method }) => {
      const mark = headersOf(document, operation).includes('idempotencyKey') ? '!' : '';
      return `${operation.operationId} ${method}${mark} ${path}`;
    });
    return `  ${version}: \`${lines.join('\n')}\`,`;
  });
  return `/** Where the operations of each version are: id, method (\`!\` where it takes an Idempotency-Key) and path. */\nexport const OPERATIONS = {\n${versions.join('\n')}\n} as const;\n`;
}

function operationsOf(document: Document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
      // Streams are read and written by hand-written code.
      .filter(({ operation }) => !isStream(operation)),
  );
}

/** Whether an operation takes or answers nothing that is JSON but its problems. */
function isStream({ requestBody, responses }: DocumentOperation): boolean {
  if (requestBody?.content['application/octet-stream'] !== undefined) return true;
  const answers = Object.entries(responses).flatMap(([status, response]) =>
    status.startsWith('2') && 'content' in response ? Object.keys(response.content ?? {}) : [],
  );
  return answers.length > 0 && !answers.includes('application/json');
}

function parametersOf(document: Document, operation: DocumentOperation): Parameter[] {
  return (operation.parameters ?? []).flatMap((parameter) => {
    if (!('$ref' in parameter)) return [parameter];
    const found = document.components.parameters?.[nameOf(parameter.$ref)];
    return found === undefined ? [] : [found];
  });
}

function paramsOf(document: Document, operation: DocumentOperation, path: string): string {
  const known = new Map(
    parametersOf(document, operation)
      .filter((parameter) => parameter.in === 'path')
      .map((parameter) => [parameter.name, typeOf(parameter.schema)]),
  );
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  // A client for sessions has the organisation already.
  const members = names.map(
    (name) => `${name}${name === 'organisation' ? '?' : ''}: ${known.get(name) ?? 'string'}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join('; ')} }`;
}

function queryOf(document: Document, operation: DocumentOperation): string {
  const members = parametersOf(document, operation)
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, required, schema }) => `${name}${required ? '' : '?'}: ${typeOf(schema)}`);
  return members.length === 0 ? 'never' : `{ ${members.join('; ')} }`;
}

function headersOf(document: Document, operation: DocumentOperation): string[] {
  return parametersOf(document, operation).flatMap(({ in: where, name }) => {
    const option = HEADERS[name];
    return where === 'header' && option !== undefined ? [option] : [];
  });
}

function bodyOf({ requestBody }: DocumentOperation): string {
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  return schema === undefined ? 'never' : typeOf(schema);
}

function resultOf({ responses }: DocumentOperation): string {
  for (const [status, response] of Object.entries(responses)) {
    const schema = 'content' in response && response.content?.['application/json']?.schema;
    if (status.startsWith('2') && schema) return typeOf(schema);
  }
  return '{}';
}

/** The TypeScript type of a JSON schema, on one line but for objects with descriptions. */
function typeOf(schema: JsonSchema, indent = ''): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(quote).join(' | ');
  const open = schema['x-extensible-enum'];
  if (open !== undefined) {
    // Known values are completed in editors, and later versions may add to them.
    const known = open.map(quote).join(' | ');
    return `${known} | (string & {})${listed(schema).includes('null') ? ' | null' : ''}`;
  }
  const { anyOf } = schema;
  // Formats of a string are no types.
  if (anyOf !== undefined && schema.type === undefined) {
    return [...new Set(anyOf.map((one) => typeOf(one, indent)))].join(' | ');
  }
  return listed(schema)
    .map((type) => primitive(type, schema, indent))
    .join(' | ');
}

function listed({ type }: JsonSchema): readonly string[] {
  return type === undefined ? ['unknown'] : typeof type === 'string' ? [type] : type;
}

function primitive(type: string, schema: JsonSchema, indent: string): string {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') {
    const item = typeOf(schema.items ?? {}, indent);
    return /^\w+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`;
  }
  if (type === 'object') return objectType(schema, indent);
  return type;
}

function objectType(schema: JsonSchema, indent: string): string {
  const required = new Set(schema.required);
  const inner = `${indent}  `;
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, of]) =>
      `${comment(of, inner)}${inner}readonly ${key(name)}${required.has(name) ? '' : '?'}: ${typeOf(of, inner)};`,
  );
  const { additionalProperties, patternProperties } = schema;
  const rest =
    typeof additionalProperties === 'object'
      ? additionalProperties
      : Object.values(patternProperties ?? {})[0];
  if (rest !== undefined) members.push(`${inner}readonly [name: string]: ${typeOf(rest, inner)};`);
  if (members.length === 0) return 'Readonly<Record<string, unknown>>';
  return `{\n${members.join('\n')}\n${indent}}`;
}

function key(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : quote(name);
}

function comment({ description }: JsonSchema, indent: string): string {
  return description === undefined
    ? ''
    : `${indent}/** ${description.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`;
}

function quote(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
