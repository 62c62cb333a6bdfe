/**
 * xterm.js writes `<style>` elements and the attribute `style`, both of which the policy of the page refuses. What a
 * script sets through the CSS object model is allowed. So a style sheet of the page takes the place of each `<style>`
 * that is made while `open` runs, and a declaration that of each attribute. Returns how to take the sheets back.
 * Its option `documentOverride` does not reach all of these places (6.0.0).
 */
export function withStrictStyles(open: () => void): () => void {
  declareSpanStyles();
  const sheets: CSSStyleSheet[] = [];
  const create = (tag: string): HTMLElement => Document.prototype.createElement.call(document, tag);
  document.createElement = (tag: string) =>
    tag === 'style' ? createSheetElement(create('span'), sheets) : create(tag);
  try {
    open();
  } finally {
    // The method of the prototype again.
    Reflect.deleteProperty(document, 'createElement');
  }
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter(
      (sheet) => !sheets.includes(sheet),
    );
  };
}

/** An element without any effect, whose text is the text of a style sheet. */
function createSheetElement(element: HTMLElement, sheets: CSSStyleSheet[]): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets.push(sheet);
  element.hidden = true;
  let text = '';
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set(css: string) {
      text = css;
      sheet.replaceSync(css);
    },
  });
  return element;
}

/** Means the same for every span of the page: without it, the policy refuses the attribute. */
function declareSpanStyles(): void {
  if (Object.hasOwn(HTMLSpanElement.prototype, 'setAttribute')) return;
  HTMLSpanElement.prototype.setAttribute = function setAttribute(
    name: string,
    value: string,
  ): void {
    if (name === 'style') this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}
