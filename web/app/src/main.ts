import 'maplibre-gl/dist/maplibre-gl.css';
import './theme.css';
import './page.css';
import { App, credit } from './app';

credit();
void new App().start();
