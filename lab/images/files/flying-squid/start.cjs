// flying-squid's own program reads its settings and then puts the defaults over all of them (1.12.0, app.js): this one
// does it the other way round.
const { readFileSync } = require('node:fs');
const squid = require('flying-squid');
const defaults = require('flying-squid/config/default-settings.json');

const settings = { ...defaults, ...JSON.parse(readFileSync('settings.json', 'utf8')) };
// A world is not converted between versions of the game: each has its own folder.
squid.createMCServer({ ...settings, worldFolder: `world/${settings.version}` });

process.on('unhandledRejection', (reason) => console.error(reason));
