<?php
// The smallest application around examples/php/laravel: what Laravel's own skeleton brings, as far as the receiver needs it.
// It is written for the Laravel of Debian 12 and 13 (php-laravel-framework).

use App\Http\Controllers\Avisos;
use Illuminate\Config\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Http\Request;

require 'Illuminate/autoload.php';
require getenv('LARAVEL_EXAMPLE');

$folder = getenv('RECEPTOR_CARPETA');
$app = new Application($folder);
$app->instance('env', 'production');
$app->instance('config', new Repository([
    'app' => [
        'providers' => array_map(fn ($name) => "Illuminate\\$name\\{$name}ServiceProvider", ['Bus', 'Cache', 'Filesystem', 'View']),
        'aliases' => []],
    'cache' => ['default' => 'file', 'stores' => ['file' => ['driver' => 'file', 'path' => $folder]]],
    'logging' => ['default' => 'stderr', 'channels' => ['stderr' => [
        'driver' => 'monolog', 'handler' => Monolog\Handler\StreamHandler::class, 'with' => ['stream' => 'php://stderr']]]],
    'services' => ['apientidades' => ['secreto' => getenv('RECEPTOR_SECRETO')]],
    'view' => ['paths' => [], 'compiled' => $folder],
]));
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Handler::class);
@mkdir("$folder/bootstrap/cache", 0700, true); // Laravel keeps a list of providers there; another request may have made it

$kernel = new class($app, $app['router']) extends Kernel {
    protected $bootstrappers = [Bootstrap\RegisterFacades::class, Bootstrap\RegisterProviders::class, Bootstrap\BootProviders::class];
};
$app['router']->post('/avisos', Avisos::class);
$request = Request::capture();
$response = $kernel->handle($request)->send();
$kernel->terminate($request, $response);
