import { openDatabase } from '../../db/database.ts';
import { startDeliveries } from './hooks.ts';

/** A process that delivers until it is killed: the argument is the URL of its database. */
const url = process.argv[2] ?? '';
startDeliveries({ after: () => {} }, { db: openDatabase({ url, applicationName: 'killed' }), url });
