// flying-squid's own program reads its settings and then puts the defaults over all of them (1.12.0, app.js): this one
// does it the other way round.
const { readFileSync } = require('node:fs');
const squid = require('flying-squid');
const defaults = require('flying-squid/config/default-settings.json');

const written = JSON.parse(readFileSync('settings.json', 'utf8'));
const settings = { ...defaults, ...written };
// Panels write what a person typed: numbers and yes or no are text then.
for (const [name, value] of Object.entries(settings)) {
  const fallback = defaults[name];
  if (typeof fallback === 'number') settings[name] = Number(value);
  if (typeof fallback === 'boolean') settings[name] = value === true || value === 'true';
}
// A world is not converted between versions of the game: each has its own folder.
squid.createMCServer({ ...settings, worldFolder: `world/${settings.version}` });

process.on('unhandledRejection', (reason) => console.error(reason));
